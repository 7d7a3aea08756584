import { request } from 'node:http'

export const ATTACKERS = 8

export interface Attack {
  readonly port: number
  readonly bodies: readonly string[]
  readonly seconds: number
}

export interface Attacked {
  readonly statuses: readonly number[]
  /** In bytes. */
  readonly largest: number
  readonly requested: number
}

/** Sends a chat request and calls `heard` with each part of the response and its time. Resolves with the status. */
export const chatOf = (port: number, body: string, received: (at: number, text: string) => void): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const requested = request(
      { port, host: '127.0.0.1', method: 'POST', path: '/v1/chat/completions', headers },
      (response) => {
        response.setEncoding('utf8')
        response.on('data', (text: string) => received(performance.now(), text))
        response.on('end', () => resolve(response.statusCode ?? 0))
      },
    )
    requested.on('error', reject)
    requested.end(body)
  })
