import type { AlignType } from 'mdast'
import stringWidth from 'string-width'

/**
 * A table as lines of text for a fixed-width font. Width is counted as terminals and code blocks show it: CJK and emoji
 * take two columns.
 */

/** A row wider than this wraps on most screens and is shown as a list of its cells instead. */
const WIDEST_ROW = 120

/** A table as text: aligned columns, or one paragraph a row where the rows would be too wide. */
export function fixedWidthTable(rows: readonly string[][], align: readonly AlignType[]): string {
  const lines = alignedTable(rows, align)
  if (lines) return lines.join('\n')
  return listedTable(rows)
    .map((row) => row.join('\n'))
    .join('\n\n')
}

/** Lines of an aligned table, or `null` when its rows would be too wide to read. The first row is the header. */
function alignedTable(rows: readonly string[][], align: readonly AlignType[]): string[] | null {
  const columns = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(3, ...rows.map((row) => stringWidth(row[column] ?? ''))),
  )
  if (widths.reduce((sum, width) => sum + width + 2, 0) > WIDEST_ROW) return null
  const line = (cells: readonly string[]) =>
    widths
      .map((width, column) => padded(cells[column] ?? '', width, align[column] ?? null))
      .join('  ')
      .trimEnd()
  const [header = [], ...body] = rows
  return [line(header), widths.map((width) => '-'.repeat(width)).join('  '), ...body.map(line)]
}

/** The same table as a list, one row after another: `header: cell` for each cell that has something. */
function listedTable(rows: readonly string[][]): string[][] {
  const [header = [], ...body] = rows
  return body.map((row) => row.flatMap((cell, column) => (cell ? [`${header[column] ?? column + 1}: ${cell}`] : [])))
}

function padded(text: string, width: number, align: AlignType): string {
  const missing = Math.max(0, width - stringWidth(text))
  if (align === 'right') return ' '.repeat(missing) + text
  if (align !== 'center') return text + ' '.repeat(missing)
  const left = Math.floor(missing / 2)
  return ' '.repeat(left) + text + ' '.repeat(missing - left)
}
