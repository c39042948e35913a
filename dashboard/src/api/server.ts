import { ask, get, post } from './client';
import type { Server, Session } from './types';
import { base } from '../router/base';

export const server = (signal?: AbortSignal) => get<Server>('v1/server', {}, signal);

export const session = () => get<Session>('v1/session');
// The cookie is for this page's path only, which the server cannot know behind a proxy.
export const sign_in = (key: string) => post<Session>('v1/session', { key, path: base.pathname });
export const sign_out = () => ask<void>('DELETE', 'v1/session');
