const isNode = (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node !== undefined

/**
 * Returns the response with a body that ends when the signal aborts, as does the connection. In Node the signal given to
 * `fetch` may stop working once the headers are there: it is dropped when the request is garbage-collected. Browsers keep it.
 */
export const withAbortableBody = (response: Response, signal: AbortSignal): Response => {
  if (!isNode || response.body === null) return response
  const reader = response.body.getReader()
  let giveUp = (): void => undefined
  const release = (): void => signal.removeEventListener('abort', giveUp)
  const cancel = (reason: unknown): Promise<void> => {
    release()
    return reader.cancel(reason).catch(() => undefined)
  }
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      start: (controller) => {
        giveUp = () => {
          controller.error(signal.reason)
          void cancel(signal.reason)
        }
        signal.addEventListener('abort', giveUp, { once: true })
        if (signal.aborted) giveUp()
      },
      pull: async (controller) => {
        const { done, value } = await reader.read().catch((error: unknown) => {
          release()
          throw error
        })
        if (signal.aborted) return
        if (!done) return controller.enqueue(value)
        release()
        controller.close()
      },
      cancel,
    },
    { highWaterMark: 0 },
  )
  const { status, statusText, headers } = response
  return new Response(body, { status, statusText, headers })
}
