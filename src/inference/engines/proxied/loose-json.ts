// Responses of servers that are OpenAI-compatible more or less: fields may be missing or have other types.

export type Json = Readonly<Record<string, unknown>>

export const object = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})

export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Returns null for a value that no count can have. */
export const count = (value: unknown): number | null =>
  Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : null

/** Reads errors in OpenAI's format, and plain strings, which some servers send. */
export const messageOf = (error: unknown): string => {
  const { message } = object(error)
  return typeof message === 'string' ? message : typeof error === 'string' ? error : JSON.stringify(error)
}
