import { SCOPES, type Scope } from './access.ts'

/** The roles of a person in an organization. */
export const ROLES = ['admin', 'member', 'viewer'] as const

export type Role = (typeof ROLES)[number]

/** The scopes of each role: a member can do everything except administration; a viewer cannot change anything. */
export const ROLE_SCOPES: Record<Role, readonly Scope[]> = {
  admin: SCOPES,
  member: SCOPES.filter((scope) => scope !== 'admin'),
  viewer: ['devices:read', 'models:read', 'training:read', 'metrics:read'],
}
