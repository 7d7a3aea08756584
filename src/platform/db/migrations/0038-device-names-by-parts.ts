/**
 * An index for searching parts of device names, if the server has pg_trgm (Debian's does) and lets us use it; the embedded
 * database scans all names. Heartbeats do not update it, since they change no names.
 */
export const deviceNamesByParts = {
  name: '0038-device-names-by-parts',
  statements: [
    `do $$ begin
       create extension if not exists pg_trgm;
       execute 'create index devices_by_part_of_name on devices using gin (device_id collate "C" gin_trgm_ops)';
     exception when insufficient_privilege or feature_not_supported or undefined_file or undefined_object then
       raise notice 'Parts of names are searched without an index: %', sqlerrm;
     end $$`,
  ],
} as const
