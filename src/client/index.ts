// `tributary/client`: the API, typed by openapi.json.
export {
  type ApiClient,
  ApiError,
  type ClientSettings,
  type components,
  createClient,
  type ErrorBody,
  type paths,
  unwrap,
} from './client.ts'
