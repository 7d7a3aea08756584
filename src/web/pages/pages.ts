import type { PageEntry } from '../shell/page-entry.ts'

/** The areas, in the order of the navigation. One row adds one: its folder has an `area.tsx` with the area's routes. */
export const PAGES: readonly PageEntry[] = [
  {
    name: 'Home',
    path: '/',
    key: 'h',
    load: () => import('./home/area.tsx').then((area) => ({ default: area.Area, preload: area.preload })),
  },
  {
    name: 'Devices',
    path: '/devices',
    key: 'd',
    load: () => import('./devices/area.tsx').then((area) => ({ default: area.Area })),
  },
  {
    name: 'Training',
    path: '/training',
    key: 't',
    load: () => import('./training/area.tsx').then((area) => ({ default: area.Area })),
  },
  {
    name: 'Models',
    path: '/models',
    key: 'm',
    load: () => import('./models/area.tsx').then((area) => ({ default: area.Area })),
  },
  {
    name: 'Delivery',
    path: '/delivery',
    key: 'l',
    load: () => import('./delivery/area.tsx').then((area) => ({ default: area.Area })),
  },
  {
    name: 'Experiments',
    path: '/experiments',
    key: 'x',
    load: () => import('./experiments/area.tsx').then((area) => ({ default: area.Area })),
  },
  {
    name: 'Federations',
    path: '/federations',
    key: 'f',
    load: () => import('./federations/area.tsx').then((area) => ({ default: area.Area })),
  },
  {
    name: 'Playground',
    path: '/playground',
    key: 'p',
    load: () => import('./playground/area.tsx').then((area) => ({ default: area.Area })),
  },
  {
    name: 'Integrations',
    path: '/integrations',
    key: 'i',
    load: () => import('./integrations/area.tsx').then((area) => ({ default: area.Area })),
  },
  {
    name: 'Organization',
    path: '/organization',
    key: 'o',
    load: () => import('./organization/area.tsx').then((area) => ({ default: area.Area })),
  },
  {
    name: 'API',
    path: '/docs',
    key: 'a',
    load: () => import('./reference/area.tsx').then((area) => ({ default: area.Area })),
  },
]
