/** Makes a page of a group's members cost the same in any group. */
export const groupMembersByTime = {
  name: '0032-group-members-by-time',
  statements: ['create index device_group_members_by_time on device_group_members (group_id, added_at)'],
} as const
