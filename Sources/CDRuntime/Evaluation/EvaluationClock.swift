#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Values that are made when they are asked for.
enum EvaluationClock {
  static func value(of value: DefaultValue) -> AttributeValue {
    switch value {
    case .value(let value): value
    case .now: .date(Date())
    case .uuid: .uuid(UUID.random())
    }
  }
}
