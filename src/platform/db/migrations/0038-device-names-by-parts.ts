/**
 * A part of a device's name is found by an index, where the server has pg_trgm (Debian's has) and lets us use it; the embedded database
 * reads its names one by one. Heartbeats do not touch it, as they change no name.
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
