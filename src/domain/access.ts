/** What a key may be allowed to do. `admin` covers keys, team, settings and integrations. */
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

/** `self` is what a device's own key carries in token mode: heartbeat as itself, submit its own updates. */
export type Grant = Scope | 'self'

/** Grants of a device's own key under token enrollment. */
export const DEVICE_GRANTS: readonly Grant[] = ['models:read', 'training:read', 'self']

/** Whoever is behind a valid API key. */
export interface Caller {
  readonly keyId: string
  /** The organization the key is bound to; null is unbound: it sees every organization and may name any. */
  readonly orgId: string | null
  /** Internal id (uuid) of the device that owns the key; null for keys made for people and programs. */
  readonly deviceId: string | null
  readonly grants: readonly Grant[]
  /** The user-chosen id of that device. */
  readonly deviceName?: string | null
  /** Where what the caller makes belongs when nothing else says so; absent: to the organization of its key. */
  readonly homeOrgId?: string | null
  /** The key whose rate limit the request counts against; absent: `keyId`. A key from a login shares its approver's. */
  readonly rateKeyId?: string
  /** Of a browser's session. One that was opened without a key, under open enrollment, has its own id as `keyId`. */
  readonly sessionId?: string
  /** The person who signed in, or whose own key it is; absent for keys of programs and devices. */
  readonly personId?: string
  /** What the person must do before the session counts for anything else; absent: nothing. */
  readonly restriction?: Restriction
}

/** enroll: the organization requires a second factor; confirm: the session was idle, and asks again who it is. */
export type Restriction = 'enroll' | 'confirm'

/** Under token enrollment nothing new belongs to no organization: what names none joins this one. */
export const DEFAULT_ORG = 'default'

/** The organization of what the caller makes without naming one; null: none, under open enrollment. */
export const homeOf = (caller: Caller): string | null => caller.orgId ?? caller.homeOrgId ?? null

/** Whom an action is written down for: the person, or else the key. */
export const actorOf = ({ personId, keyId }: Caller): string => personId ?? keyId

export const holds = (caller: Caller, grant: Grant): boolean => caller.grants.includes(grant)

/** A device's own key under token enrollment: it reads what the device needs, and more than that only by these scopes. */
export const isDeviceKey = (caller: Caller): boolean => caller.deviceId !== null && !holds(caller, 'devices:read')

/** A bound key sees only its own organization's records; an unbound key sees all of them. */
export const sees = (caller: Caller, recordOrgId: string | null): boolean =>
  caller.orgId === null || caller.orgId === recordOrgId

export type EnrollmentMode = 'open' | 'token'
