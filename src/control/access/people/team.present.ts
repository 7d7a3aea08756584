import type { Invitation, Person } from './people.service.ts'

export const presentPerson = (person: Person) => ({
  id: person.id,
  email: person.email,
  name: person.name,
  role: person.role,
  status: 'active' as const,
  mfa: person.mfa,
  signed_in_at: person.signedInAt?.toISOString() ?? null,
  created_at: person.createdAt.toISOString(),
  expires_at: null,
})

export const presentInvitation = ({ id, email, role, createdAt, expiresAt }: Invitation, now: Date) => ({
  id,
  email,
  name: null,
  role,
  status: expiresAt > now ? ('invited' as const) : ('expired' as const),
  mfa: false,
  signed_in_at: null,
  created_at: createdAt.toISOString(),
  expires_at: expiresAt.toISOString(),
})
