/** Entries by address, whose name is deleted with its last entry. */
export const auditAddresses = {
  name: '0050-audit-addresses',
  statements: [
    `create index audit_entries_by_address on audit_entries (org_id, address_id, seq) where address_id is not null`,
  ],
} as const
