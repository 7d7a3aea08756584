import { hasCredentials } from '../../domain/address-credentials.ts'
import { anySignal } from '../../domain/any-signal.ts'
import { jsonOrNull } from '../../domain/parse-json.ts'
import { withAbortableBody } from './abortable-body.ts'
import { throughProxy } from './proxy.ts'
import { Interruption, reasonOf, TransferError } from './transfer-error.ts'

const MAX_REDIRECTS = 5
const ANSWER_MS = 60_000
const MAX_WAIT_MS = 60_000
const MAX_REFUSAL_BYTES = 65_536
const REFUSAL_MS = 5000

export interface Request {
  readonly method?: 'GET' | 'HEAD'
  /** For every host, including redirect targets. */
  readonly headers?: Readonly<Record<string, string>>
  /** For the first host only: keys must not be sent to redirect targets. */
  readonly ownHeaders?: Readonly<Record<string, string>>
  /** Whether to follow redirects to other hosts. If false, the redirect itself is returned. */
  readonly leaveHost?: boolean
  readonly signal: AbortSignal
}

export interface FollowedResponse {
  readonly response: Response
  /** The headers of the first host's last response, which describe a file that another host serves. */
  readonly about: Headers
}

const ask = async (url: URL, headers: Record<string, string>, requested: Request): Promise<Response> => {
  const stop = new AbortController()
  const giveUp = (): void => stop.abort(requested.signal.reason)
  requested.signal.addEventListener('abort', giveUp)
  const timer = setTimeout(() => stop.abort(new Error(`no response within ${ANSWER_MS / 1000} s`)), ANSWER_MS)
  try {
    requested.signal.throwIfAborted()
    return await fetch(url, {
      method: requested.method ?? 'GET',
      // Ranges refer to the bytes of the file, not of a compressed form.
      headers: { 'accept-encoding': 'identity', 'user-agent': 'tributary', ...headers },
      redirect: 'manual',
      signal: anySignal(requested.signal, stop.signal),
    })
  } catch (error) {
    requested.signal.throwIfAborted()
    const reason = reasonOf(stop.signal.aborted ? stop.signal.reason : error)
    throw new Interruption(`no response from ${url.host}${throughProxy(url)} (${reason})`, { cause: error })
  } finally {
    clearTimeout(timer)
    requested.signal.removeEventListener('abort', giveUp)
  }
}

const waitAskedFor = (response: Response): number | null => {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds * 1000, MAX_WAIT_MS) : null
}

/**
 * Sends a request and follows redirects, at most five, never from https to http.
 * @throws Interruption if there is no response, or it is 408, 429 or 5xx; TransferError for invalid redirects
 */
export const follow = async (start: URL, requested: Request): Promise<FollowedResponse> => {
  const { headers = {}, ownHeaders = {}, leaveHost = true } = requested
  let url = start
  let about: Headers | null = null
  for (let hops = 0; ; hops++) {
    const isFirstHost = url.origin === start.origin
    const response = await ask(url, isFirstHost ? { ...headers, ...ownHeaders } : { ...headers }, requested)
    if (isFirstHost || about === null) about = response.headers
    const { status } = response
    if (status === 408 || status === 429 || status >= 500) {
      // A body that never ends would otherwise keep its socket, and with it the process.
      const limited = withAbortableBody(response, AbortSignal.timeout(REFUSAL_MS))
      const body = await jsonOf(limited, MAX_REFUSAL_BYTES).catch(() => null)
      throw new Interruption(`${url.host} returned ${status}`, {
        waitMs: waitAskedFor(response),
        refusal: { status, body },
      })
    }
    const location = response.headers.get('location')
    if (status < 300 || status > 399 || location === null) return { response, about }
    const next = URL.canParse(location, url.href) ? new URL(location, url) : null
    if (next === null || !['http:', 'https:'].includes(next.protocol) || hasCredentials(next)) {
      await response.body?.cancel()
      throw new TransferError(`${url.host} redirects to something that is not a web address.`)
    }
    if (url.protocol === 'https:' && next.protocol === 'http:') {
      await response.body?.cancel()
      throw new TransferError(`${url.host} redirects to ${next.host} without encryption, which is not followed.`)
    }
    if (!leaveHost && next.origin !== start.origin) return { response, about }
    await response.body?.cancel()
    if (hops === MAX_REDIRECTS) throw new TransferError(`${start.host} redirects more than ${MAX_REDIRECTS} times.`)
    url = next
  }
}

/** Returns a response's JSON of at most `maxBytes`; null if it is not JSON. @throws TransferError if it is longer */
export const jsonOf = async (response: Response, maxBytes: number): Promise<unknown> => {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += part.length
    if (size > maxBytes) throw new TransferError(`The response is longer than the limit of ${maxBytes} bytes.`)
    parts.push(part)
  }
  return jsonOrNull(Buffer.concat(parts).toString('utf8'))
}

/** The text between the quotes, without the prefix of a weak ETag. */
export const plainEtag = (etag: string | null): string | null =>
  etag === null ? null : etag.replace(/^W\//, '').replace(/^"(.*)"$/, '$1') || null
