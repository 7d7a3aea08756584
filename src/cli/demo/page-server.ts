import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import { Failure } from '../failure.ts'
import { SYSTEM_PROMPT } from './terminal-chat.ts'

export interface PageServer {
  readonly url: string
  close(): Promise<void>
}

const HOST = '127.0.0.1'

/** The page's only requests that are forwarded to the inference server. */
const PASSED_ON = ['GET /v1/models', 'POST /v1/chat/completions']

/** Allows the page's own script and style, but nothing injected by an answer. */
const policyFor = (html: string): string => {
  const hashOf = (tag: string): string => {
    const text = new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(html)![1]!
    return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  }
  return [
    "default-src 'none'",
    `script-src ${hashOf('script')}`,
    `style-src ${hashOf('style')}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

const passOn = (target: URL, key: string | null, incoming: IncomingMessage, outgoing: ServerResponse): void => {
  const send = target.protocol === 'https:' ? secureRequest : request
  const { 'content-type': type, 'content-length': length } = incoming.headers
  const headers = {
    ...(type && { 'content-type': type }),
    ...(length && { 'content-length': length }),
    ...(key !== null && { authorization: `Bearer ${key}` }),
  }
  const forwarded = send(target, { method: incoming.method, headers }, (response) => {
    const { 'content-type': contentType = 'application/json', 'retry-after': retry } = response.headers
    outgoing.writeHead(response.statusCode!, { 'content-type': contentType, ...(retry && { 'retry-after': retry }) })
    pipeline(response, outgoing, () => undefined)
  })
  forwarded.once('error', (error) => {
    if (outgoing.headersSent) return void outgoing.destroy()
    const message = `The inference server cannot be reached (${error.message}).`
    outgoing.writeHead(502, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }))
  })
  // Leaving the page stops the answer.
  outgoing.once('close', () => forwarded.destroy())
  incoming.pipe(forwarded)
}

/**
 * Serves the page on this machine and forwards its questions to the inference server.
 * @throws Failure if the port is taken
 */
export const servePage = async (
  port: number,
  upstream: { readonly url: string; readonly key: string | null },
  model: string,
): Promise<PageServer> => {
  const html = await readFile(new URL('./code-assistant.html', import.meta.url), 'utf8')
  const policy = policyFor(html)
  const server = createServer((incoming, outgoing) => {
    const { port: own } = server.address() as AddressInfo
    // Refuses other sites: one may point a host name at this address, or post to it.
    const hosts = [`localhost:${own}`, `${HOST}:${own}`]
    const { host, origin } = incoming.headers
    if (!hosts.includes(host ?? '') || (origin !== undefined && !hosts.includes(origin.replace(/^http:\/\//, '')))) {
      return void outgoing
        .writeHead(403, { 'content-type': 'text/plain' })
        .end('This page is available on this machine only.\n')
    }
    const requested = `${incoming.method} ${(incoming.url ?? '/').split('?')[0]}`
    if (PASSED_ON.includes(requested))
      return passOn(new URL(upstream.url + requested.split(' ')[1]), upstream.key, incoming, outgoing)
    if (requested === 'GET /model') {
      return void outgoing
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ model, system: SYSTEM_PROMPT }))
    }
    if (requested !== 'GET /') return void outgoing.writeHead(404, { 'content-type': 'text/plain' }).end('Not found.\n')
    outgoing
      .writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': policy,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      })
      .end(html)
  }).listen(port, HOST)
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw new Failure(`Port ${port} is already in use.`, {
      advice: 'Choose another --port; 0 picks a free one.',
      cause: error,
    })
  }
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
