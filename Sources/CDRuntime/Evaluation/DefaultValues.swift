#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Creates default values, which may be the current time or a new UUID.
enum DefaultValues {
  static func value(of value: DefaultValue) -> AttributeValue {
    switch value {
    case .value(let value): value
    case .now: .date(Date())
    case .uuid: .uuid(UUID.random())
    }
  }
}
