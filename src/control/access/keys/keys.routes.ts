import { SCOPES } from '../../../domain/access.ts'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { optionalBody } from '../../../platform/http/validation.ts'
import { warn } from '../../../platform/http/warnings.ts'
import type { OrgsService } from '../orgs/orgs.service.ts'
import { effectiveGrants } from './authentication.service.ts'
import { CreatedKey, CreateKeyBody, Key, KeyList, KeyParams, KeyQuery, RotateKeyBody } from './keys.schema.ts'
import { KEY_KINDS, type KeysService, kindOf, type StoredKey } from './keys.service.ts'

const DEFAULT_OVERLAP_HOURS = 24
const DAY_MS = 24 * 60 * 60 * 1000

interface KeysParts {
  readonly keys: KeysService
  readonly orgs: Pick<OrgsService, 'warningsOf'>
  readonly now: () => Date
}

export const keysRoutes = (app: App, { keys, orgs, now }: KeysParts): void => {
  app.post(
    '/api/v1/keys',
    {
      schema: {
        operationId: 'createKey',
        summary: 'Create an API key',
        description: 'Create an API key. The response shows it once.',
        body: CreateKeyBody,
        response: { 201: CreatedKey },
      },
      config: { access: 'admin' } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { name, scopes, org_id, expires_in_days } = request.body
      const expiresAt = expires_in_days === undefined ? null : new Date(now().getTime() + expires_in_days * DAY_MS)
      const caller = callerOf(request)
      // Before the key is created: if this fails, the response cannot show it.
      for (const warning of await orgs.warningsOf(org_id ?? caller.orgId)) warn(request, warning)
      const { key, token } = await keys.create(caller, {
        name,
        scopes: scopes ?? SCOPES.filter((scope) => scope !== 'admin'),
        orgId: org_id ?? null,
        expiresAt,
      })
      if (key.expiresAt?.getTime() !== expiresAt?.getTime()) {
        warn(
          request,
          `The new key expires at ${key.expiresAt?.toISOString()}: no later than the key that created it and the organization's key_lifetime_days allow.`,
        )
      }
      return reply.code(201).send({ ...present(key), api_key: token })
    },
  )

  app.get(
    '/api/v1/keys',
    {
      schema: {
        operationId: 'listKeys',
        summary: 'List keys',
        description: "List keys, newest first. Without the admin scope: only the person's own keys.",
        querystring: KeyQuery,
        response: { 200: KeyList },
      },
      config: { access: 'any-key', errors: ['forbidden'] } satisfies RouteConfig,
    },
    async (request) => {
      const { kind, devices, ...page } = request.query
      const kinds = kind !== undefined ? [kind] : KEY_KINDS.filter((each) => (each === 'device') === devices)
      return { keys: (await keys.list(callerOf(request), { ...page, kinds })).map(present) }
    },
  )

  app.get(
    '/api/v1/keys/self',
    {
      schema: {
        operationId: 'getOwnKey',
        summary: 'Get the key of this request',
        description: 'The key of this request and its scopes; 404 for a session without a key.',
        response: { 200: Key },
      },
      config: { access: 'any-key', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const caller = callerOf(request)
      const own = await keys.own(caller)
      return { ...present(own), org_id: caller.orgId ?? own.orgId, scopes: [...caller.grants] }
    },
  )

  app.delete(
    '/api/v1/keys/:key_id',
    {
      schema: {
        operationId: 'revokeKey',
        summary: 'Revoke a key and the keys it approved',
        description:
          "Keys that have replaced it stay valid, and are named in a warning. Requires the admin scope, except for the key of the request and a person's own keys.",
        params: KeyParams,
        response: { 200: Key },
      },
      config: { access: 'any-key', errors: ['forbidden', 'not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { key, replacements } = await keys.revoke(callerOf(request), request.params.key_id)
      for (const id of replacements) {
        warn(
          request,
          `The key ${id} has replaced this one and stays valid. If this one leaked, revoke that too: svc keys revoke ${id}`,
        )
      }
      return present(key)
    },
  )

  app.post(
    '/api/v1/keys/:key_id/rotate',
    {
      schema: {
        operationId: 'rotateKey',
        summary: 'Rotate a key with an overlap',
        description:
          'Creates a key with the same name, scopes, organization, and lifetime. The old key, and the sign-ins that it approved, ' +
          'expire after the overlap. The new key expires no later than the key of the request, or than key_lifetime_days allows. Requires the admin scope, except ' +
          "for the key of the request; a person's key can be rotated only by that person.",
        params: KeyParams,
        body: optionalBody(RotateKeyBody),
        response: { 201: CreatedKey },
      },
      config: { access: 'any-key', errors: ['forbidden', 'not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const overlap = request.body?.overlap_hours ?? DEFAULT_OVERLAP_HOURS
      const { key, token } = await keys.rotate(callerOf(request), request.params.key_id, overlap)
      return reply.code(201).send({ ...present(key), api_key: token })
    },
  )
}

const present = (key: StoredKey) => ({
  id: key.id,
  name: key.name,
  prefix: key.prefix,
  scopes: [...effectiveGrants(key)],
  org_id: key.orgId,
  kind: kindOf(key),
  device_id: key.deviceId === null ? null : key.name,
  created_at: key.createdAt.toISOString(),
  expires_at: key.expiresAt?.toISOString() ?? null,
  revoked_at: key.revokedAt?.toISOString() ?? null,
  last_used_at: key.lastUsedAt?.toISOString() ?? null,
  approved_by: key.approvedBy,
  person_id: key.personId,
  created_by: key.createdBy,
  replaces: key.replaces,
  replaced_by: key.replacedBy,
  exceeds_lifetime: key.exceedsLifetime,
})
