import type { WhisperTokens } from './whisper-rules.ts'

export interface TokenSegment {
  /** Seconds from the window's start. */
  readonly start: number
  readonly end: number
  readonly tokens: readonly number[]
}

export const SECONDS_PER_TIMESTAMP = 0.02

const rounded = (seconds: number): number => Math.round(seconds * 100) / 100

/**
 * Splits a window's tokens at their timestamps. Speech after the last closed segment may have been cut off by the window's end,
 * so the next window starts there and transcribes it again.
 * @param decoded the tokens without the preamble and the end
 */
export const segmentsOf = (
  { firstTimestamp }: Pick<WhisperTokens, 'firstTimestamp'>,
  decoded: readonly number[],
  windowSeconds: number,
): { readonly segments: readonly TokenSegment[]; readonly nextStart: number } => {
  const isTime = (token: number | undefined): boolean => token !== undefined && token >= firstTimestamp
  const secondsOf = (token: number): number =>
    Math.min(rounded((token - firstTimestamp) * SECONDS_PER_TIMESTAMP), windowSeconds)
  const segments: TokenSegment[] = []
  let start = 0
  let open: number[] = []
  let isClosed = true
  for (const token of decoded) {
    if (!isTime(token)) {
      open.push(token)
      isClosed = false
      continue
    }
    const time = secondsOf(token)
    if (open.length > 0) {
      segments.push({ start, end: Math.max(start, time), tokens: open })
      open = []
      isClosed = true
    }
    start = time
  }
  const lastEnd = segments.at(-1)?.end ?? 0
  // With two timestamps at the end, the model says that more follows after the second one.
  const isCut = !isClosed || (isTime(decoded.at(-1)) && isTime(decoded.at(-2)))
  if (isCut && lastEnd > 0) return { segments, nextStart: lastEnd }
  if (open.length > 0) segments.push({ start: Math.min(start, windowSeconds), end: windowSeconds, tokens: open })
  return { segments, nextStart: windowSeconds }
}
