// As wide as a phone: there the menu has what the header has no room for.
import { MediaQuery } from 'svelte/reactivity';

export const narrow = new MediaQuery('max-width: 40rem');
