import type { FastifyRequest, FastifySchema, onSendAsyncHookHandler } from 'fastify'
import { cut } from '../../../domain/text.ts'
import { observed } from '../../../platform/db/transactions.ts'
import { knownCallerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import { routeConfigOf } from '../../../platform/http/route-config.ts'
import type { Audit, AuditedRequest } from './audit.service.ts'
import { UNAUDITED_OPERATIONS } from './unaudited-operations.ts'

const READING = new Set(['GET', 'HEAD', 'OPTIONS'])
const WITNESS = Symbol('audit')

/** Returns the operation if its requests are audited, otherwise null. */
const auditedOperation = (methods: readonly string[], schema: FastifySchema | undefined): string | null => {
  const operation = methods.every((method) => READING.has(method)) ? undefined : schema?.operationId
  return operation === undefined || Object.hasOwn(UNAUDITED_OPERATIONS, operation) ? null : operation
}

/** Takes the object from the last parameter of the path, until a service says more: `rollout_id` identifies a rollout. */
const objectOf = (params: unknown): AuditedRequest['object'] => {
  const last = Object.entries((params ?? {}) as Readonly<Record<string, string>>).at(-1)
  if (last === undefined) return null
  const [name, id] = last
  // The ids of devices in paths are their names, which could not be erased from the entry.
  return { kind: name.replace(/_id$/, ''), id: name === 'device_id' ? null : cut(id, 255) }
}

const described = (action: string, request: FastifyRequest): AuditedRequest => ({
  action,
  caller: () => knownCallerOf(request),
  address: request.ip,
  requestId: request.id,
  object: objectOf(request.params),
})

/** Makes every audited request write an entry: with its change or, if it was refused, before the response. */
export const auditRequests = (app: App, audit: Audit): void => {
  app.decorateRequest(WITNESS as never, null as never)

  const refused = async (action: string, request: FastifyRequest, statusCode: number): Promise<void> => {
    const witness = (request as unknown as Record<symbol, ReturnType<Audit['witness']> | null>)[WITNESS]
    if (witness?.isWritten()) return witness.failed(statusCode)
    // Requests without a valid key are only counted, by the rate limit. A refused sign-in is an attempt and is audited.
    const isSignIn = statusCode === 401 && routeConfigOf(request).access === 'public'
    if (statusCode === 403 || isSignIn) await audit.refused(described(action, request), statusCode)
  }

  app.addHook('onRoute', (route) => {
    const { handler } = route
    const action = auditedOperation([route.method].flat(), route.schema)
    if (action === null) return
    route.handler = function (request, reply) {
      const witness = audit.witness(described(action, request))
      Object.assign(request, { [WITNESS]: witness })
      return observed(witness, async () => handler.call(this, request, reply))
    }
    const onSend: onSendAsyncHookHandler = async (request, { statusCode }) => {
      if (statusCode < 400) return
      // Fastify would replace the answer by this error, with its message.
      await refused(action, request, statusCode).catch((err: unknown) =>
        request.log.error({ err, action }, 'an entry of the audit log could not be written'),
      )
    }
    route.onSend = [...[route.onSend ?? []].flat(), onSend]
  })
}
