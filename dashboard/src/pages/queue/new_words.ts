import { dictionary } from '../../words/dictionary';

export const words = dictionary({
  en: {
    open: 'New queue',
    title: 'New queue',
    name: 'Name',
    create: 'Create',
    created: (queue: string) => `${queue} is created.`,
    needed: 'This field is required.',
    taken: (queue: string) => `There is a queue ${queue} already.`,
    later: 'Everything else is usual, and can be changed on the page of the queue.',
    hints: {
      description: 'optional; what its tasks do',
      max_concurrent: 'how many of its tasks may run at the same time, over all workers',
      process_rate: 'how many of its tasks may start in a time, such as 100/1s',
      'retry.max_retries': 'how often a failed task is tried again, or: unlimited',
    },
  },
  ru: {
    open: 'Новая очередь',
    title: 'Новая очередь',
    name: 'Имя',
    create: 'Создать',
    created: (queue) => `Очередь ${queue} создана.`,
    needed: 'Это нужно указать.',
    taken: (queue) => `Очередь ${queue} уже есть.`,
    later: 'Остальное — как обычно; изменить его можно на странице очереди.',
    hints: {
      description: 'необязательно; что делают её задачи',
      max_concurrent: 'сколько её задач может выполняться сразу, у всех воркеров вместе',
      process_rate: 'сколько её задач может начаться за время, например 100/1s',
      'retry.max_retries': 'сколько раз повторять неудавшуюся задачу, или: unlimited',
    },
  },
});
