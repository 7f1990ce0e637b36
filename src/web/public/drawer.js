import { words } from './words.js'

/** On narrow pages the list of threads is a drawer over the conversation; on wide ones it always stands beside it. */
export function createDrawer() {
  const sidebar = document.querySelector('#sidebar')
  const place = document.querySelector('.place')
  const opener = document.querySelector('#open-drawer')
  const narrow = matchMedia('(max-width: 767px)')

  function show(open) {
    const covers = open && narrow.matches
    document.body.classList.toggle('drawer-open', covers)
    opener.setAttribute('aria-expanded', String(covers))
    // What is out of sight or covered is out of reach for the keyboard, too.
    sidebar.inert = narrow.matches && !open
    place.inert = covers
  }

  function close() {
    const hadFocus = sidebar.contains(document.activeElement)
    show(false)
    if (hadFocus && narrow.matches) opener.focus()
  }

  opener.addEventListener('click', () => {
    show(true)
    sidebar.querySelector('#close-drawer').focus()
  })
  document.querySelector('#close-drawer').addEventListener('click', close)
  document.querySelector('#shade').addEventListener('click', close)
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && document.body.classList.contains('drawer-open')) close()
  })
  narrow.addEventListener('change', () => show(false))
  show(false)
  return {
    close,
    /** Says on the opener what would be seen in the list. */
    note(text) {
      const { openThreads } = words
      opener.setAttribute('aria-label', text ? `${openThreads} (${text})` : openThreads)
      opener.classList.toggle('marked', text !== '')
    },
  }
}
