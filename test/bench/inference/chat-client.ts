import { Agent, request } from 'node:http'

export interface Measured {
  readonly promptTokens: number
  readonly tokens: number
  /** Milliseconds from the request to the first text, and to the end. */
  readonly first: number
  readonly total: number
}

export interface ChatRequest {
  readonly content: string
  readonly maxTokens: number
}

// One connection per request: a server may close an idle one just as it is used again.
const agent = new Agent({ keepAlive: false, maxSockets: 64 })

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[]
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null
}

/** Sends a chat request to an OpenAI-style server and times the streamed answer as the client sees it. */
export const timeChat = (port: number, model: string, { content, maxTokens }: ChatRequest): Promise<Measured> =>
  new Promise((resolve, reject) => {
    const body = JSON.stringify({
      model,
      messages: [{ role: 'user', content }],
      max_tokens: maxTokens,
      temperature: 0,
      top_p: 1,
      stream: true,
      stream_options: { include_usage: true },
    })
    const began = performance.now()
    let first = Number.NaN
    let usage = { prompt_tokens: 0, completion_tokens: 0 }
    let rest = ''
    const hear = (line: string): void => {
      if (!line.startsWith('data: ') || line === 'data: [DONE]') return
      const chunk = JSON.parse(line.slice(6)) as Chunk
      if (Number.isNaN(first) && chunk.choices?.some(({ delta }) => delta?.content)) first = performance.now() - began
      if (chunk.usage) usage = chunk.usage
    }
    const requested = request(
      {
        port,
        host: '127.0.0.1',
        method: 'POST',
        path: '/v1/chat/completions',
        agent,
        headers: { 'content-type': 'application/json' },
      },
      (response) => {
        response.setEncoding('utf8')
        response.on('data', (text: string) => {
          const lines = (rest + text).split('\n')
          rest = lines.pop() ?? ''
          for (const line of lines) hear(line.trimEnd())
        })
        response.on('end', () => {
          const total = performance.now() - began
          if (response.statusCode !== 200) reject(new Error(`${response.statusCode}: ${rest}`))
          else {
            resolve({
              promptTokens: usage.prompt_tokens,
              tokens: usage.completion_tokens,
              // The text of a single token may arrive only at the end.
              first: Number.isNaN(first) ? total : first,
              total,
            })
          }
        })
      },
    )
    requested.on('error', reject)
    requested.end(body)
  })
