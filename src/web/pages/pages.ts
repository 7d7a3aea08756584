import type { PageEntry } from '../shell/page-entry.ts'
import * as home from './home/area.tsx'

/** The areas, in navigation order. To add one, add a row here and a folder with an `area.tsx` with its routes. */
export const PAGES: readonly PageEntry[] = [
  { name: 'Home', path: '/', key: 'h', load: async () => home },
  { name: 'Devices', path: '/devices', key: 'd', load: () => import('./devices/area.tsx') },
  { name: 'Training', path: '/training', key: 't', load: () => import('./training/area.tsx') },
  { name: 'Models', path: '/models', key: 'm', load: () => import('./models/area.tsx') },
  { name: 'Delivery', path: '/delivery', key: 'l', load: () => import('./delivery/area.tsx') },
  { name: 'Experiments', path: '/experiments', key: 'x', load: () => import('./experiments/area.tsx') },
  { name: 'Federations', path: '/federations', key: 'f', load: () => import('./federations/area.tsx') },
  { name: 'Playground', path: '/playground', key: 'p', load: () => import('./playground/area.tsx') },
  { name: 'Integrations', path: '/integrations', key: 'i', load: () => import('./integrations/area.tsx') },
  { name: 'Organization', path: '/organization', key: 'o', load: () => import('./organization/area.tsx') },
  { name: 'API', path: '/docs', key: 'a', load: () => import('./reference/area.tsx') },
]
