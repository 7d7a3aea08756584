/** An error response of a server, or an error within a stream. */
export class ChatServerError extends Error {
  override readonly name = 'ChatServerError'
  /** null within a stream. */
  readonly status: number | null
  /** The seconds in its Retry-After header. */
  readonly retryAfter: number | null
  /** The server's code for the error, or its type. */
  readonly code: string | null

  constructor(message: string, status: number | null, retryAfter: number | null = null, code: string | null = null) {
    super(message)
    this.status = status
    this.retryAfter = retryAfter
    this.code = code
  }
}

/** The server sent nothing for too long. */
export class ServerStalled extends Error {
  override readonly name = 'ServerStalled'
}
