import { Unreachable } from '../../api/client.ts'
import { fieldsIn, headersOf, type Inputs, isForm, isJson, pathOf, sendsBody } from './call.ts'
import type { Operation } from './document.ts'

export interface TryItResponse {
  readonly status: number
  readonly ms: number
  readonly type: string
  readonly headers: readonly (readonly [string, string])[]
  /** Truncated to what is shown. */
  readonly text: string
  readonly more: boolean
  readonly open: boolean
}

const MAX_SHOWN = 200_000
const SHOWN_HEADERS = /^(content-type|etag|location|retry-after|ratelimit-|x-)/
const isText = (type: string): boolean => /^(application\/json|text\/)/.test(type)

const bodyOf = (operation: Operation, { body }: Inputs, file: File | null): BodyInit | null => {
  if (operation.body === null) return null
  if (isJson(operation)) return sendsBody(operation, body) ? body : null
  if (!isForm(operation)) return file
  const form = new FormData()
  for (const [name, text] of fieldsIn(JSON.parse(body.trim() || '{}') as object)) form.set(name, text)
  if (file !== null) form.set('file', file)
  return form
}

const pretty = (type: string, text: string): string => {
  if (!type.startsWith('application/json')) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/**
 * Sends the request with this browser's session and calls `told` as the response arrives, because streams do not end. Does not
 * read binary responses.
 */
export const send = async (
  operation: Operation,
  inputs: Inputs,
  {
    file,
    signal,
    onResponse,
  }: {
    readonly file: File | null
    readonly signal: AbortSignal
    readonly onResponse: (response: TryItResponse) => void
  },
): Promise<void> => {
  const started = performance.now()
  const { method, body } = operation
  const sent = bodyOf(operation, inputs, file)
  const type = body === null || sent === null || isForm(operation) ? [] : [['content-type', body.type]]
  const response = await fetch(pathOf(operation, inputs, false), {
    method,
    headers: Object.fromEntries([...headersOf(operation, inputs), ...type]),
    body: sent,
    signal,
  }).catch((error: unknown) => {
    throw signal.aborted ? error : new Unreachable(method === 'GET' ? 'again' : 'write', error)
  })
  const head = {
    status: response.status,
    type: response.headers.get('content-type') ?? '',
    headers: [...response.headers].filter(([name]) => SHOWN_HEADERS.test(name)),
  }
  const tell = (text: string, more: boolean, open: boolean): void =>
    onResponse({ ...head, ms: performance.now() - started, text, more, open })
  if (response.body === null || !isText(head.type)) {
    await response.body?.cancel()
    return tell('', response.status !== 204 && response.body !== null, false)
  }
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    text += decoder.decode(piece.value, { stream: true })
    if (text.length > MAX_SHOWN) {
      await reader.cancel()
      return tell(text.slice(0, MAX_SHOWN), true, false)
    }
    tell(text, false, true)
  }
  tell(pretty(head.type, text), false, false)
}
