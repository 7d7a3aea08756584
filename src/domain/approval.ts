import type { Scope } from './access.ts'
import { conflict } from './errors.ts'

/** Actions that may need a second person, with the scope that the requester must hold until they are carried out. */
export const APPROVAL_KINDS = {
  alias_move: 'models:write',
  deployment: 'models:write',
  rollout_start: 'models:write',
  settings_change: 'admin',
} as const satisfies Readonly<Record<string, Scope>>

export type ApprovalKind = keyof typeof APPROVAL_KINDS
export const APPROVAL_KIND_NAMES = Object.keys(APPROVAL_KINDS) as readonly ApprovalKind[]

/** failed: approved, but the requested change is no longer the same. */
export const APPROVAL_STATUSES = ['pending', 'approved', 'rejected', 'cancelled', 'expired', 'failed'] as const
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number]

const WEEK_MS = 7 * 24 * 60 * 60 * 1000

/** Returns when an undecided request expires: after a week. */
export const approvalEnd = (requestedAt: Date): Date => new Date(requestedAt.getTime() + WEEK_MS)

/** @throws conflict if it has been decided or has expired */
export const requirePending = (
  { id, status, expiresAt }: { readonly id: string; readonly status: ApprovalStatus; readonly expiresAt: Date },
  now: Date,
): void => {
  const actual = status === 'pending' && expiresAt <= now ? 'expired' : status
  if (actual !== 'pending') throw conflict(`The request ${id} is ${actual}. Request it again if it is still needed.`)
}

/** Shown to a user who is about to request approval. */
export const WILL_WAIT = 'It will wait for the approval of another admin.'

/** True if a delivery counts as fleet-wide: it reaches more than half of the organization's devices. */
export const isFleetWide = (reached: number, devices: number): boolean => 2 * reached > devices
