import CDModel

/// The server's numbers of types.
enum PostgresType: UInt32, Sendable {
  case bool = 16
  case bytes = 17
  case int64 = 20
  case int16 = 21
  case int32 = 23
  case text = 25
  case float = 700
  case double = 701
  case numeric = 1700
  case uuid = 2950

  /// The type of a column.
  init(_ type: StorageType) {
    self =
      switch type {
      case .bool: .bool
      case .decimal: .numeric
      case .uuid: .uuid
      // The server has no type of its own for the values, so it has their stored form.
      default:
        switch type.storageClass {
        case .integer: .int64
        case .real: .double
        case .text: .text
        case .bytes: .bytes
        }
      }
  }

  /// The number of the type of arrays.
  var array: UInt32 {
    switch self {
    case .bool: 1000
    case .bytes: 1001
    case .int16: 1005
    case .int32: 1007
    case .text: 1009
    case .int64: 1016
    case .float: 1021
    case .double: 1022
    case .numeric: 1231
    case .uuid: 2951
    }
  }

  /// The name of the type in statements.
  var name: String {
    switch self {
    case .bool: "boolean"
    case .bytes: "bytea"
    case .int16: "smallint"
    case .int32: "integer"
    case .int64: "bigint"
    case .text: "text"
    case .float: "real"
    case .double: "double precision"
    case .numeric: "numeric"
    case .uuid: "uuid"
    }
  }
}
