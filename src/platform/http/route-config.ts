import type { FastifyRequest } from 'fastify'
import type { TObject } from 'typebox'
import type { Grant } from '../../domain/access.ts'
import type { ErrorCode } from '../../domain/errors.ts'

declare module 'fastify' {
  /** What a route's schema says for the API document. */
  interface FastifySchema {
    /** Not in the document. */
    readonly hide?: boolean
    readonly operationId?: string
    readonly summary?: string
    readonly description?: string
    readonly tags?: readonly string[]
    readonly consumes?: readonly string[]
    readonly produces?: readonly string[]
    /** Beyond the interface that this service keeps to. */
    readonly 'x-extension'?: boolean
  }
}

/** Who may call a route: everyone, any valid key, or a key that holds the grant (of a list: one of them). */
export type Access = 'public' | 'any-key' | Grant | readonly Grant[]

/** A route's `config`; `access` is required. */
export interface RouteConfig {
  readonly access: Access
  /** Codes this route answers with beyond those that follow from its access and its schemas. For the documentation. */
  readonly errors?: readonly ErrorCode[]
  /**
   * Called before a request is answered with 400, so that a missing resource is 404 first: throws the error to
   * answer with instead. Path parameters may not have been validated yet.
   */
  readonly beforeInvalid?: (request: FastifyRequest) => Promise<void>
  /** The text fields in addition to the file of a multipart body: for the documentation; the route itself parses them. */
  readonly form?: TObject
  /** The form may name something that stands for the file. For the documentation. */
  readonly fileIsOptional?: true
  /** Files that the form may have beside it, by their part's name, each with its description. For the documentation. */
  readonly furtherFiles?: Readonly<Record<string, string>>
  /** Sessions that must enroll a second factor, or confirm who they are, may call it all the same. */
  readonly whileRestricted?: true
  /** `false`: refused for devices' own keys under token enrollment, although they hold the scope. */
  readonly deviceKeys?: false
  /**
   * `false`: heartbeats that were answered need not be written first, as they are before every other request with a key,
   * which may read them.
   */
  readonly flushHeartbeats?: false
  /** `false` exempts the route from the rate limit: probes and documentation. */
  readonly rateLimit?: false
}

export const routeConfigOf = (request: FastifyRequest): RouteConfig =>
  request.routeOptions.config as unknown as RouteConfig
