/** The page's sentences in its language, put into the page by the server. */
export const words = JSON.parse(document.querySelector('#words').textContent)

const page = document.documentElement.lang
/** For times and numbers: the page's language as the person's own country writes them, where the browser tells it. */
export const locale = navigator.languages.find((tag) => tag.startsWith(page.slice(0, 2))) ?? page
