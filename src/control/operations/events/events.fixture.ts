import { onTestFinished } from 'vitest'

export interface ReceivedEvent {
  readonly id: number | null
  readonly event: string
  readonly data: unknown
}

export interface ReceivedStream {
  readonly status: number
  readonly headers: Headers
  /** The next event; null when the stream has ended. */
  next(): Promise<ReceivedEvent | null>
  close(): void
}

/** Reads an event stream like a client; closed when the test ends. */
export const openStream = async (
  baseUrl: string,
  {
    key,
    query = '',
    lastEventId,
    headers = {},
  }: { key?: string; query?: string; lastEventId?: number | string; headers?: Readonly<Record<string, string>> },
): Promise<ReceivedStream> => {
  const gone = new AbortController()
  onTestFinished(() => gone.abort())
  const response = await fetch(`${baseUrl}/api/v1/events${query}`, {
    headers: {
      ...headers,
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }),
    },
    signal: gone.signal,
  })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const next = async (): Promise<ReceivedEvent | null> => {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end !== -1) {
        const lines = text.slice(0, end).split('\n')
        text = text.slice(end + 2)
        const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
        const data = field('data')
        if (data === undefined) continue
        const id = field('id')
        return { id: id === undefined ? null : Number(id), event: field('event')!, data: JSON.parse(data) }
      }
      const chunk = await reader?.read()
      if (chunk === undefined || chunk.done) return null
      text += chunk.value
    }
  }
  return { status: response.status, headers: response.headers, next, close: () => gone.abort() }
}
