import type { FastifyRequest } from 'fastify'
import type { TObject } from 'typebox'
import type { Grant } from '../../domain/access.ts'
import type { ErrorCode } from '../../domain/errors.ts'

declare module 'fastify' {
  /** A route's schema, as used for the API document. */
  interface FastifySchema {
    /** Omits the route from the document. */
    readonly hide?: boolean
    readonly operationId?: string
    readonly summary?: string
    readonly description?: string
    readonly tags?: readonly string[]
    readonly consumes?: readonly string[]
    readonly produces?: readonly string[]
  }
}

/** Who may call a route: everyone, any valid key, or a key that holds the grant (for a list, one of them). */
export type Access = 'public' | 'any-key' | Grant | readonly Grant[]

/** A route's `config`; `access` is required. */
export interface RouteConfig {
  readonly access: Access
  /** Error codes beyond those implied by the route's access and schemas. For the documentation. */
  readonly errors?: readonly ErrorCode[]
  /**
   * Called before a request is answered with 400, so that a missing resource is 404 instead: throws the error to send. Path
   * parameters may not have been validated yet.
   */
  readonly beforeInvalid?: (request: FastifyRequest) => Promise<void>
  /** The text fields that accompany the file in a multipart body. For the documentation and for checking names. */
  readonly form?: TObject
  /** A field of the form may replace the file. For the documentation. */
  readonly fileIsOptional?: true
  /** Additional files of the form, by part name, each with its description. For the documentation. */
  readonly furtherFiles?: Readonly<Record<string, string>>
  /** Sessions that must enroll a second factor or confirm their identity may call it as well. */
  readonly whileRestricted?: true
  /** `false`: refuses devices' own keys under token enrollment, even if they hold the scope. */
  readonly deviceKeys?: false
  /**
   * `false`: received heartbeats need not be stored first, as they are before every other request with a key, which may read
   * them.
   */
  readonly flushHeartbeats?: false
  /** `false` exempts the route from the rate limit: probes and documentation. */
  readonly rateLimit?: false
}

export const routeConfigOf = (request: FastifyRequest): RouteConfig =>
  request.routeOptions.config as unknown as RouteConfig
