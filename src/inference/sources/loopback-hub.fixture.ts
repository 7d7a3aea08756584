import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Seen {
  readonly host: 'hub' | 'cdn' | 'auth'
  readonly method: string
  readonly url: string
  readonly authorization: string | undefined
  readonly range: string | undefined
  readonly ifRange: string | undefined
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void

export const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
export const gitBlobOf = (bytes: Uint8Array): string =>
  createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')

/** Starts a local server that is closed when the test ends. */
const serve = async (host: Seen['host'], seen: Seen[], answer: Handler): Promise<string> => {
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request
    const { authorization, range } = headers
    seen.push({ host, method, url, authorization, range, ifRange: headers['if-range'] as string | undefined })
    answer(request, response)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Sends bytes like file hosts do, with ranges, If-Range, and a strong tag. Breaks off after `cut` bytes of the body. */
export const sendFile = (
  request: IncomingMessage,
  response: ServerResponse,
  file: { readonly bytes: Uint8Array; readonly etag: string; readonly headers?: Record<string, string> },
  cut: number | undefined,
): void => {
  const { bytes, etag } = file
  const requested = /^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1]
  const condition = request.headers['if-range']
  const start =
    requested !== undefined && (condition === undefined || condition === `"${etag}"`) ? Number(requested) : 0
  const headers = { ...file.headers, etag: `"${etag}"`, 'accept-ranges': 'bytes' }
  if (start > 0 && start >= bytes.length) {
    response.writeHead(416, { ...headers, 'content-range': `bytes */${bytes.length}` }).end()
    return
  }
  const body = bytes.subarray(start)
  response.writeHead(start > 0 ? 206 : 200, {
    ...headers,
    'content-length': body.length,
    ...(start > 0 && { 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` }),
  })
  if (request.method === 'HEAD') response.end()
  else if (cut === undefined) response.end(body)
  else response.write(body.subarray(0, cut), () => response.destroy())
}

export interface HubFile {
  bytes: Uint8Array
  /** Stored outside of git: redirected to another host. */
  readonly large: boolean
}

/** A double of Hugging Face, with a second host for large files. Its behavior can be changed while it runs. */
export interface Hub {
  readonly endpoint: string
  readonly seen: Seen[]
  readonly files: Map<string, HubFile>
  commit: string
  /** How much of each following body is sent before the connection breaks; undefined for all of it. */
  readonly cuts: (number | undefined)[]
  /** Answers the request instead of the hub, if it returns true. */
  instead: ((request: IncomingMessage, response: ServerResponse) => boolean) | null
}

export const startHub = async (files: Readonly<Record<string, HubFile>>, repo = 'org/tiny'): Promise<Hub> => {
  const seen: Seen[] = []
  const stored = new Map<string, Uint8Array>()
  const cdn = await serve('cdn', seen, (request, response) => {
    const bytes = stored.get(request.url!.slice(1).split('?')[0]!)
    // Uses another tag than the hub, as large stores do.
    if (bytes === undefined) response.writeHead(404).end()
    else sendFile(request, response, { bytes, etag: `cdn-${bytes.length}` }, hub.cuts.shift())
  })
  const endpoint = await serve('hub', seen, (request, response) => {
    if (hub.instead?.(request, response)) return
    const { pathname, searchParams } = new URL(request.url!, 'http://hub')
    if (pathname === `/api/models/${repo}/tree/main`) {
      const all = [...hub.files].map(([path, { bytes, large }]) => ({
        type: 'file',
        path,
        size: bytes.length,
        oid: gitBlobOf(bytes),
        ...(large && { lfs: { oid: sha256Of(bytes), size: bytes.length, pointerSize: 134 } }),
      }))
      const at = Number(searchParams.get('cursor') ?? 0)
      const next = `${endpoint}${pathname}?recursive=true&cursor=${at + 2}`
      response.writeHead(200, {
        'content-type': 'application/json',
        ...(at + 2 < all.length && { link: `<${next}>; rel="next"` }),
      })
      response.end(JSON.stringify([{ type: 'directory', path: 'onnx', oid: 'x' }, ...all.slice(at, at + 2)]))
      return
    }
    const [, revision, path] = new RegExp(`^/${repo}/resolve/([^/]+)/(.+)$`).exec(pathname) ?? []
    const file = path === undefined ? undefined : hub.files.get(decodeURIComponent(path))
    if (file === undefined || (revision !== 'main' && revision !== hub.commit)) {
      response.writeHead(404, { 'x-error-code': path === undefined ? 'RepoNotFound' : 'EntryNotFound' }).end()
      return
    }
    const about = { 'x-repo-commit': hub.commit }
    if (!file.large) {
      sendFile(request, response, { bytes: file.bytes, etag: gitBlobOf(file.bytes), headers: about }, hub.cuts.shift())
      return
    }
    const sha256 = sha256Of(file.bytes)
    stored.set(sha256, file.bytes)
    response.writeHead(302, {
      ...about,
      location: `${cdn}/${sha256}?signature=${seen.length}`,
      etag: `"${sha256}"`,
      'x-linked-etag': `"${sha256}"`,
      'x-linked-size': file.bytes.length,
    })
    response.end()
  })
  const hub: Hub = {
    endpoint,
    seen,
    files: new Map(Object.entries(files)),
    commit: 'c'.repeat(40),
    cuts: [],
    instead: null,
  }
  return hub
}

/** A double of Ollama's registry: manifests, blobs on another host, and tokens if required. */
export interface Registry {
  readonly address: string
  readonly seen: Seen[]
  readonly cuts: (number | undefined)[]
  /** Sent instead of the weights. */
  spoilt: Uint8Array | null
}

export const startRegistry = async (
  weights: Uint8Array,
  options: { readonly wantsToken?: boolean; readonly mediaTypes?: readonly string[] } = {},
): Promise<Registry> => {
  const seen: Seen[] = []
  const digest = `sha256:${sha256Of(weights)}`
  const cdn = await serve('cdn', seen, (request, response) =>
    sendFile(request, response, { bytes: registry.spoilt ?? weights, etag: 'cdn' }, registry.cuts.shift()),
  )
  const auth = await serve('auth', seen, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ token: 'sesame' }))
  })
  const address = await serve('hub', seen, (request, response) => {
    if (options.wantsToken === true && request.headers.authorization !== 'Bearer sesame') {
      const challenge = `Bearer realm="${auth}/token",service="registry",scope="repository:library/tiny:pull"`
      response
        .writeHead(401, { 'www-authenticate': challenge })
        .end(JSON.stringify({ errors: [{ code: 'UNAUTHORIZED' }] }))
    } else if (request.url === '/v2/library/tiny/manifests/latest') {
      const layers = (options.mediaTypes ?? ['model', 'template', 'params']).map((kind) => ({
        mediaType: `application/vnd.ollama.image.${kind}`,
        digest: kind === 'model' ? digest : `sha256:${sha256Of(Buffer.from(kind))}`,
        size: kind === 'model' ? weights.length : kind.length,
      }))
      const mediaType = 'application/vnd.docker.distribution.manifest.v2+json'
      response.writeHead(200, { 'content-type': mediaType })
      response.end(JSON.stringify({ schemaVersion: 2, mediaType, config: { digest, size: 1 }, layers }))
    } else if (request.url === `/v2/library/tiny/blobs/${digest}`) {
      response.writeHead(307, { location: `${cdn}/data` }).end()
    } else {
      response.writeHead(404).end(JSON.stringify({ errors: [{ code: 'MANIFEST_UNKNOWN' }] }))
    }
  })
  const registry: Registry = { address, seen, cuts: [], spoilt: null }
  return registry
}

/** Returns bytes that differ by position, so that a misplaced part is detected. */
export const someBytes = (length: number, seed = 1): Uint8Array => {
  const bytes = new Uint8Array(length)
  let state = seed
  for (let index = 0; index < length; index++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    bytes[index] = state >>> 16
  }
  return bytes
}
