import { dictionary } from './dictionary';

export const words = dictionary({
  en: { queue: 'Queue', all: 'All queues' },
  ru: { queue: 'Очередь', all: 'Все очереди' },
});
