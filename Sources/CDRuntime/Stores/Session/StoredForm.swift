#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension AttributeValue {
  /// The value as a column keeps it: nil, an integer, a double, a string or data.
  var stored: AttributeValue {
    switch self {
    case .null, .int, .double, .string, .data: self
    case .bool(let flag): .int(flag ? 1 : 0)
    case .decimal(let number): DecimalText.encode(number).map { .string($0) } ?? .null
    case .date(let date): .double(date.timeIntervalSinceReferenceDate)
    case .uuid(let uuid): .data(Data(ValueBytes.bytes(uuid)))
    case .url(let url): .string(url.absoluteString)
    case .composite: .null
    }
  }
}
