/** A piece of a message that is kept or removed as a whole. A message's pieces add up to the message. */
export interface Unit {
  readonly text: string
  readonly kind: 'sentence' | 'code'
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/
/** Lines that look like code or JSON: indented, or with brackets or semicolons at the end or the start. */
const CODE_LINE = /^(?: {4,}|\t)|[{}[\];]\s*$|^\s*[}\])]/
/**
 * The space after a sentence ending and its closing quotes; CJK endings need no space. The lookbehind starts at the space:
 * searching from each of a million periods would take a million times as long.
 */
const SENTENCE_END = /(?<=[.!?…]["'”’)\]]{0,3})\s+|[。！？]+["'”’」』）]*\s*/g

const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []

const sentencesOf = (line: string): string[] => {
  const pieces: string[] = []
  let start = 0
  for (const match of line.matchAll(SENTENCE_END)) {
    const end = match.index + match[0].length
    // `1. ` starts a list item and does not end a sentence.
    if (/^\s*(?:\d{1,3}|[A-Za-z])[.)]\s+$/.test(line.slice(start, end))) continue
    pieces.push(line.slice(start, end))
    start = end
  }
  if (start < line.length) pieces.push(line.slice(start))
  return pieces
}

const isCode = (paragraph: readonly string[]): boolean =>
  paragraph.length >= 2 && paragraph.filter((line) => CODE_LINE.test(line)).length * 2 > paragraph.length

/** Groups lines into blocks: a fenced block, a paragraph, or the blank lines between them. */
const blocksOf = (lines: readonly string[]): { readonly lines: readonly string[]; readonly isFenced: boolean }[] => {
  const blocks: { lines: string[]; isFenced: boolean }[] = []
  let closing: RegExp | null = null
  let wasBlank = true
  for (const line of lines) {
    const isBlank = line.trim() === ''
    const opening: string | undefined = closing === null ? FENCE.exec(line)?.[1] : undefined
    if (opening !== undefined) {
      blocks.push({ lines: [line], isFenced: true })
      closing = new RegExp(`^ {0,3}${opening[0]}{${opening.length},}\\s*$`)
    } else if (closing !== null) {
      blocks.at(-1)!.lines.push(line)
      if (closing.test(line)) closing = null
    } else if (!isBlank && !wasBlank && blocks.length > 0 && !blocks.at(-1)!.isFenced) blocks.at(-1)!.lines.push(line)
    else if (isBlank && blocks.length > 0) blocks.at(-1)!.lines.push(line)
    else blocks.push({ lines: [line], isFenced: false })
    wasBlank = isBlank && closing === null
  }
  return blocks
}

/** Splits a text into sentences and code blocks. Each block is one unit, whether fenced or recognized as code. */
export const unitsOf = (text: string): readonly Unit[] => {
  const units: { text: string; kind: Unit['kind'] }[] = []
  for (const { lines, isFenced } of blocksOf(linesOf(text))) {
    const written = lines.filter((line) => line.trim() !== '')
    if (isFenced || isCode(written)) units.push({ text: lines.join(''), kind: 'code' })
    else
      for (const line of lines) {
        const last = units.at(-1)
        if (line.trim() === '' && last !== undefined) last.text += line
        else for (const sentence of sentencesOf(line)) units.push({ text: sentence, kind: 'sentence' })
      }
  }
  const [first, second] = units
  // A piece with only whitespace could be all that remains of a message, so it joins the next one.
  if (second !== undefined && first!.text.trim() === '') {
    second.text = first!.text + second.text
    units.shift()
  }
  return units
}
