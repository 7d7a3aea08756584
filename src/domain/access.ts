import { forbidden } from './errors.ts'

/** The scopes of API keys. `admin` covers keys, team, settings and integrations. */
export const SCOPES = [
  'devices:read',
  'devices:write',
  'models:read',
  'models:write',
  'training:read',
  'training:write',
  'metrics:read',
  'admin',
] as const

export type Scope = (typeof SCOPES)[number]

/** `self` is granted to a device's own key in token mode: send its own heartbeats and submit its own updates. */
export type Grant = Scope | 'self'

/** Grants of a device's own key under token enrollment. */
export const DEVICE_GRANTS: readonly Grant[] = ['models:read', 'training:read', 'self']

/** The owner of a valid API key. */
export interface Caller {
  readonly keyId: string
  /** The organization that the key is bound to; null: unbound, sees all organizations and may name any. */
  readonly orgId: string | null
  /** Internal id (uuid) of the device that owns the key; null for keys made for people and programs. */
  readonly deviceId: string | null
  readonly grants: readonly Grant[]
  /** The user-chosen id of that device. */
  readonly deviceName?: string | null
  /** The organization of what the caller creates without naming one, for unbound keys; absent: none. */
  readonly homeOrgId?: string | null
  /** The key whose rate limit applies to the request; absent: `keyId`. A key from a login shares its approver's. */
  readonly rateKeyId?: string
  /** The browser's session. Under open enrollment, a session opened without a key uses its own id as `keyId`. */
  readonly sessionId?: string
  /** The SHA-256 of the token that the request had: a session keeps its id when its token is replaced. */
  readonly sessionHash?: string
  /** For a session that a person opened with their own key: the id of that key, with which the session ends. */
  readonly openedBy?: string
  /** The person who signed in or owns the key; absent for keys of programs and devices. */
  readonly personId?: string
  /** What the person must do before the session may be used for anything else; absent: nothing. */
  readonly restriction?: Restriction
}

/**
 * enroll: the organization requires a second factor. confirm: the session was idle, and the person must confirm who they are.
 */
export type Restriction = 'enroll' | 'confirm'

/** Under token enrollment, new records without an organization belong to this one. */
export const DEFAULT_ORG = 'default'

/** The organization of what the caller creates without naming one; null: none, under open enrollment. */
export const homeOf = (caller: Caller): string | null => caller.orgId ?? caller.homeOrgId ?? null

/** The actor recorded in the audit log: the person, otherwise the key. */
export const actorOf = ({ personId, keyId }: Caller): string => personId ?? keyId

/** The key that the caller acts with, and that limits what they create; null for a session that was opened without a key. */
export const keyBehind = ({ keyId, sessionId, openedBy }: Caller): string | null =>
  openedBy ?? (keyId === sessionId ? null : keyId)

export const holds = (caller: Caller, grant: Grant): boolean => caller.grants.includes(grant)

/** True for a device's own key under token enrollment, which reads more than the device needs only with devices:read. */
export const isDeviceKey = (caller: Caller): boolean => caller.deviceId !== null && !holds(caller, 'devices:read')

/** A bound key sees only its own organization's records; an unbound key sees all of them. */
export const sees = (caller: Caller, recordOrgId: string | null): boolean =>
  caller.orgId === null || caller.orgId === recordOrgId

/** @throws forbidden if the caller's key is bound to a different organization */
export const requireOwnOrg = (caller: Caller, orgId: string): void => {
  if (sees(caller, orgId)) return
  throw forbidden(
    `This key is bound to a different organization than '${orgId}'. Leave the organization out, or use a key of '${orgId}'.`,
  )
}

export type EnrollmentMode = 'open' | 'token'
