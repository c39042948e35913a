import { dictionary } from './dictionary';

export const words = dictionary({
  en: {
    title: (name: string) => `The key of ${name}`,
    once: 'Copy it now and store it: this is the only time it is shown. The server keeps a hash of it and cannot show it again.',
    use: 'The console and workers read it from MILLRACE_KEY; programs send it as Authorization: Bearer, a space, and the key.',
    signed_in: 'You are signed in with it here. Everything else needs a key from now on.',
    sign_in: 'Everything needs a key from now on, this page too: sign in with it.',
    stored: 'I have stored it',
  },
  ru: {
    title: (name) => `Ключ для ${name}`,
    once: 'Скопируйте и сохраните его сейчас: больше он не будет показан. Сервер хранит только его хеш.',
    use: 'Консоль и воркеры читают его из MILLRACE_KEY; программы отправляют Authorization: Bearer, пробел и ключ.',
    signed_in: 'Здесь вы уже вошли с ним. Всему остальному теперь тоже нужен ключ.',
    sign_in: 'Теперь всему нужен ключ, этой странице тоже: войдите с ним.',
    stored: 'Ключ сохранён',
  },
});
