import createFetchClient, { type Client, type ClientOptions } from 'openapi-fetch'
import { badRequest } from '../domain/errors.ts'
import { isObject } from '../domain/is-object.ts'
import { isPathSegment } from '../domain/path-segment.ts'
import type { components, paths } from './api.gen.ts'

export type { components, paths } from './api.gen.ts'

/** The error body of every endpoint. */
export type ErrorBody = components['schemas']['Error']

export interface ClientSettings extends Pick<ClientOptions, 'fetch'> {
  /** Without /api/v1, e.g. http://127.0.0.1:8000. */
  readonly baseUrl: string
  readonly apiKey?: string | undefined
}

export type ApiClient = Client<paths>

/** Replaces each `{name}` by its encoded value. @throws bad_request for values that would address another object */
export const fillPath = (path: string, values: Readonly<Record<string, unknown>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(values[name] ?? '')
    if (!isPathSegment(value)) throw badRequest(`${name} must be a name or an id, not '${value}'.`)
    return encodeURIComponent(value)
  })

/** JSON, or a form if a file is in it: fields first, so that they arrive before the file. Bytes are sent as they are. */
const serializeBody = (body: unknown): BodyInit => {
  if (body instanceof FormData || body instanceof Blob || body instanceof ArrayBuffer) return body
  if (ArrayBuffer.isView(body)) return body as Uint8Array<ArrayBuffer>
  const entries: readonly (readonly [string, unknown])[] = isObject(body) ? Object.entries(body) : []
  const isFile = ([, value]: readonly [string, unknown]): boolean => value instanceof Blob
  if (!entries.some(isFile)) return JSON.stringify(body)
  const form = new FormData()
  for (const [name, value] of [...entries.filter((entry) => !isFile(entry)), ...entries.filter(isFile)]) {
    if (value instanceof Blob) form.append(name, value)
    else if (value !== undefined) form.append(name, typeof value === 'object' ? JSON.stringify(value) : String(value))
  }
  return form
}

/** A client of the control plane, typed by openapi.json: paths, parameters, bodies and answers. */
export const createClient = ({ baseUrl, apiKey, fetch }: ClientSettings): ApiClient =>
  createFetchClient<paths>({
    baseUrl: baseUrl.replace(/\/+$/, ''),
    pathSerializer: fillPath,
    bodySerializer: serializeBody,
    ...(fetch && { fetch }),
    ...(apiKey !== undefined && { headers: { authorization: `Bearer ${apiKey}` } }),
  })

/** The part of an answer that both outcomes share. */
interface ApiResponse<Data> {
  readonly data?: Data | undefined
  readonly error?: unknown
  readonly response: Response
}

/** A response other than a success, with the message of the service. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** Machine code of the error (`domain/errors.ts`), or null if the response is not from the service. */
  readonly code: ErrorBody['error'] | null
  /** From the header Retry-After; null without one. */
  readonly retryAfterSeconds: number | null

  constructor(status: number, body: unknown, headers?: Headers) {
    const known = isErrorBody(body) ? body : null
    super(known?.message ?? foreignResponse(status))
    this.status = status
    this.code = known?.error ?? null
    this.retryAfterSeconds = Number.parseInt(headers?.get('retry-after') ?? '', 10) || null
  }
}

const foreignResponse = (status: number): string =>
  status >= 502 && status <= 504
    ? `The service cannot be reached: a proxy returned ${status}. Try again in a moment.`
    : `The server returned ${status} with a response that is not from this API. Is the address correct?`

const isErrorBody = (body: unknown): body is ErrorBody =>
  typeof body === 'object' && body !== null && 'error' in body && 'message' in body && typeof body.message === 'string'

interface Unwrap {
  /** Where success has no body (204): of its data the types say nothing. */
  <Data>(
    response: Promise<ApiResponse<Data>> | ApiResponse<Data>,
    ...none: unknown extends Data ? [] : [never]
  ): Promise<undefined>
  <Data>(response: Promise<ApiResponse<Data>> | ApiResponse<Data>): Promise<NonNullable<Data>>
}

/** The data of a successful response. @throws ApiError for any other response. */
export const unwrap: Unwrap = async (
  received: Promise<ApiResponse<unknown>> | ApiResponse<unknown>,
): Promise<never> => {
  const { data, error, response } = await received
  // No success of this API is a list, and only 204 is without data.
  const isOurs = response.status === 204 || (data !== undefined && data !== null && !Array.isArray(data))
  if (!response.ok || !isOurs) throw new ApiError(response.status, error, response.headers)
  return data as never
}
