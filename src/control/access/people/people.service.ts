import { randomBytes } from 'node:crypto'
import { actorOf, type Caller, DEFAULT_ORG, homeOf, requireOwnOrg, sees } from '../../../domain/access.ts'
import { conflict, notFound, unauthorized } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import type { Role } from '../../../domain/roles.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Mailer, MailResult } from '../../../platform/mail.ts'
import { tokenHash } from '../../../platform/token-hash.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import { hashPassword, requireGoodPassword } from '../sign-in/passwords.service.ts'
import { type Invitation, type Person, peopleStore } from './people.store.ts'

export type { Invitation, Person } from './people.store.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const INVITATION_MS = 7 * DAY_MS
/** How long ended invitations are shown as expired. */
const SHOWN_MS = 30 * DAY_MS
const MAX_MEMBERS = 10_000
const TOKEN = /^[\w-]{43}$/

/** A member of the team, or a person invited to it. */
export type Member =
  | { readonly kind: 'person'; readonly person: Person }
  | { readonly kind: 'invitation'; readonly invitation: Invitation }

/** Stores the email address as a name in the audit log, so that it can be erased. */
const noteOf = (member: Member, before: object | null, after: object | null): void => {
  const { id, orgId, email } = member.kind === 'person' ? member.person : member.invitation
  auditNote({ kind: member.kind, id, orgId, name: email, before, after, onlyIfChanged: true })
}

/** Returns the organization whose team is requested: the caller's, or the one that an unbound key names. */
export const teamOf = (caller: Caller, orgId: string | undefined): string => {
  if (orgId !== undefined) requireOwnOrg(caller, orgId)
  return orgId ?? homeOf(caller) ?? DEFAULT_ORG
}

const mailOf = ({ email, orgId, role, expiresAt }: Invitation, link: string) => ({
  to: email,
  subject: `Invitation to ${orgId} on Tributary`,
  text:
    `You are invited to join '${orgId}' on Tributary as ${role}.\n\n` +
    `Accept by ${expiresAt.toISOString()}:\n${link}\n\n` +
    'The link works once. If you did not expect it, ignore this message.\n',
})

/** @throws conflict if the invitation was no longer open */
const requireOpen = (isOpen: boolean, { email }: Invitation): void => {
  if (!isOpen) throw conflict(`The invitation of ${email} was accepted or revoked in the meantime: see svc team list.`)
}

/** The people of organizations, and how they join and leave. */
export const createPeopleService = (
  { database, now, newId }: Context,
  {
    mailer,
    endAccess,
    forget,
    countPassword,
  }: {
    readonly mailer: Mailer
    /** Ends a person's sessions and keys; returns a function to call after the commit. */
    readonly endAccess: (tx: Executor, personId: string) => Promise<() => void>
    /** Refreshes caches after a change of a person's role. */
    readonly forget: (personId: string) => Promise<void>
    /** @throws rate_limited for too many new passwords */
    readonly countPassword: (orgId: string, email: string) => Promise<void>
  },
) => {
  const find = async (db: Executor, caller: Caller, id: string): Promise<Member> => {
    const person = isUuid(id) ? await peopleStore.find(db, id) : null
    if (person !== null && sees(caller, person.orgId)) return { kind: 'person', person }
    const invitation = isUuid(id) ? await peopleStore.openInvitation(db, id) : null
    if (invitation !== null && sees(caller, invitation.orgId)) return { kind: 'invitation', invitation }
    throw notFound('Member', id)
  }

  /** @throws conflict if the organization would be left without an admin */
  const requireOtherAdmin = async (tx: Executor, person: Person): Promise<void> => {
    const admins = await peopleStore.lockAdmins(tx, person.orgId)
    if (admins.includes(person.id) && admins.length === 1) {
      throw conflict(`${person.email} is the last admin of '${person.orgId}'. Make somebody else an admin first.`)
    }
  }

  /** @throws unauthorized if the invitation is unknown, was accepted, or has expired */
  const readInvitation = async (token: string): Promise<Invitation> => {
    const found = TOKEN.test(token) ? await peopleStore.findInvitation(database.sql, tokenHash(token), now()) : null
    if (found !== null) return found
    throw unauthorized(
      'This invitation is not valid: it was used, replaced, or revoked, or has expired. Ask for another.',
    )
  }

  /** Creates an invited person's account. @throws unauthorized if the invitation ended meanwhile; conflict for a member */
  const join = async (
    tx: Executor,
    hash: string,
    { name, passwordHash }: { readonly name: string | null; readonly passwordHash: string | null },
  ): Promise<Person> => {
    const invitation = await peopleStore.accept(tx, hash, now())
    if (invitation === null) throw unauthorized('This invitation was used, replaced, or revoked in the meantime.')
    const { orgId, role, email } = invitation
    const person = { id: newId(), orgId, email, name, role, passwordHash, createdAt: now() }
    if (!(await peopleStore.insert(tx, person))) throw conflict(`${email} is already a member of '${orgId}'.`)
    auditNote({ kind: 'person', id: person.id, orgId, name: email, after: { role, invitation: invitation.id } })
    return { ...person, mfa: false, signedInAt: null }
  }

  return {
    readInvitation,
    known: (id: string): Promise<Person | null> => peopleStore.find(database.sql, id),
    countAdmins: (orgId: string): Promise<number> => peopleStore.countAdmins(database.sql, orgId),

    /** Members in the order in which they joined, then invited people. */
    async list(caller: Caller, orgId: string | undefined): Promise<{ orgId: string; members: Member[] }> {
      const team = teamOf(caller, orgId)
      const people = await peopleStore.list(database.sql, team)
      const invitations = await peopleStore.openInvitations(database.sql, team)
      const members = [
        ...people.map((person) => ({ kind: 'person' as const, person })),
        ...invitations.map((invitation) => ({ kind: 'invitation' as const, invitation })),
      ]
      return { orgId: team, members }
    },

    /** Invites with a link that works once, for 7 days; replaces an earlier invitation to the same address. */
    async invite(
      caller: Caller,
      requested: { readonly email: string; readonly role: Role; readonly orgId: string | undefined },
      linkOf: (token: string) => string,
    ): Promise<{ invitation: Invitation; token: string; mail: MailResult }> {
      const orgId = teamOf(caller, requested.orgId)
      const token = randomBytes(32).toString('base64url')
      const at = now()
      const invitation = {
        id: newId(),
        orgId,
        // Unicode has two forms of letters with marks.
        email: requested.email.normalize('NFC'),
        role: requested.role,
        hash: tokenHash(token),
        invitedBy: actorOf(caller),
        createdAt: at,
        expiresAt: new Date(at.getTime() + INVITATION_MS),
      }
      await database.transaction(async (tx) => {
        if ((await peopleStore.findByEmail(tx, orgId, invitation.email)) !== null) {
          throw conflict(`${requested.email} is already a member of '${orgId}'.`)
        }
        const size = (await peopleStore.list(tx, orgId)).length + (await peopleStore.openInvitations(tx, orgId)).length
        if (size >= MAX_MEMBERS)
          throw conflict(`'${orgId}' has ${MAX_MEMBERS} members and invitations, which is the maximum.`)
        await peopleStore.invite(tx, invitation)
        noteOf({ kind: 'invitation', invitation }, null, { role: invitation.role, expiresAt: invitation.expiresAt })
      })
      return { invitation, token, mail: await mailer.send(mailOf(invitation, linkOf(token))) }
    },

    /** Creates an invited person's account. @throws unauthorized like `readInvitation`; rate_limited */
    async accept({ token, name, password }: { token: string; name: string | null; password: string }): Promise<Person> {
      const { orgId, email } = await readInvitation(token)
      requireGoodPassword(password, email)
      await countPassword(orgId, email)
      const passwordHash = await hashPassword(password)
      return database.transaction((tx) => join(tx, tokenHash(token), { name, passwordHash }))
    },

    /** Returns valid invitations to this email address: in one organization or, with null, in all. */
    openInvitationsTo: (db: Executor, email: string, orgId: string | null): Promise<Invitation[]> =>
      peopleStore.openInvitationsTo(db, email, orgId, now()),

    /** Creates the account of an invited person whose email address the identity provider has confirmed. */
    joinBy: (tx: Executor, { hash }: Pick<Invitation, 'hash'>, name: string | null): Promise<Person> =>
      join(tx, hash, { name, passwordHash: null }),

    async setRole(caller: Caller, id: string, role: Role): Promise<Member> {
      const changed = await database.transaction(async (tx): Promise<Member> => {
        const member = await find(tx, caller, id)
        if (member.kind === 'invitation') {
          requireOpen(await peopleStore.setInvitedRole(tx, id, role), member.invitation)
          noteOf(member, { role: member.invitation.role }, { role })
          return { kind: 'invitation', invitation: { ...member.invitation, role } }
        }
        if (role !== 'admin') await requireOtherAdmin(tx, member.person)
        if (!(await peopleStore.setRole(tx, id, role))) throw notFound('Member', id)
        noteOf(member, { role: member.person.role }, { role })
        return { kind: 'person', person: { ...member.person, role } }
      })
      await forget(id)
      return changed
    },

    /** Ends the person's account with their sessions and keys, or the invitation. */
    async remove(caller: Caller, id: string): Promise<void> {
      const after = await database.transaction(async (tx) => {
        const member = await find(tx, caller, id)
        noteOf(member, { role: (member.kind === 'person' ? member.person : member.invitation).role }, null)
        if (member.kind === 'invitation')
          return requireOpen(await peopleStore.revokeInvitation(tx, id), member.invitation)
        await requireOtherAdmin(tx, member.person)
        if (!(await peopleStore.remove(tx, id, now()))) throw notFound('Member', id)
        return endAccess(tx, id)
      })
      after?.()
    },

    deleteEnded: (): Promise<void> => peopleStore.deleteEnded(database.sql, new Date(now().getTime() - SHOWN_MS)),
  }
}

export type PeopleService = ReturnType<typeof createPeopleService>
