/** Names of integrations are unique in an organization. Of several with one name, which no command could choose, the first keeps it. */
export const integrationNames = {
  name: '0049-integration-names',
  statements: [
    `update integrations i set name = i.name || ' ' || left(i.id::text, 8)
      where exists (select from integrations first where coalesce(first.org_id, '') = coalesce(i.org_id, '')
        and first.name = i.name and first.ordinal < i.ordinal)`,
    `create unique index integrations_by_name on integrations (coalesce(org_id, ''), name)`,
  ],
} as const
