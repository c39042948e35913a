import { dictionary, plural } from '../../words/dictionary';

export const words = dictionary({
  en: {
    title: 'Events',
    when: 'When',
    what: 'What',
    task: 'Task',
    queue: 'Queue',
    type: 'Type',
    waiting: 'Nothing has happened yet',
    explain: 'Events appear here as they happen: tasks put, taken, completed, failed.',
    passed_over: (n: number) => plural(n, { one: '# event was passed over', other: '# events were passed over' }),
  },
  ru: {
    title: 'События',
    when: 'Когда',
    what: 'Что',
    task: 'Задача',
    queue: 'Очередь',
    type: 'Тип',
    waiting: 'Пока ничего не произошло',
    explain: 'Здесь появляются события: задачи поставлены, взяты, выполнены, не удались.',
    passed_over: (n) =>
      plural(n, { one: '# событие пропущено', few: '# события пропущены', many: '# событий пропущено', other: '# события пропущено' }),
  },
});
