/** The page's sentences in its language, put into the page by the server. */
export const words = JSON.parse(document.querySelector('#words').textContent)
