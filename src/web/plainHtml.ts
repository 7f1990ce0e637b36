/** Text as paragraphs of escaped HTML. */
export function renderHtml(markdown: string): string {
  return markdown
    .split(/\n{2,}/)
    .filter((part) => part.trim() !== '')
    .map((part) => `<p>${part.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)}</p>`)
    .join('\n')
}
