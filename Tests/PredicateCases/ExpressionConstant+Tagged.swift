package import CDModel
import Foundation

extension ExpressionConstant {
  /// A value as the `_readme` of datasets.json tags them.
  package init(tagged value: Any) {
    if value is NSNull {
      self = .null
    } else if let text = value as? String {
      self = .value(.string(text))
    } else if let list = value as? [Any] {
      self = .array(list.map { ExpressionConstant(tagged: $0) })
    } else if let object = value as? [String: Any] {
      self = .tagged(object)
    } else if let number = value as? NSNumber {
      // JSONSerialization has one class for both.
      let isBool = String(cString: number.objCType) == "c"
      self = isBool ? .value(.bool(number.boolValue)) : .value(.int(number.int64Value))
    } else {
      self = .null
    }
  }

  private static func tagged(_ object: [String: Any]) -> ExpressionConstant {
    guard object.count == 1, let (tag, value) = object.first else {
      return .dictionary(object.mapValues { ExpressionConstant(tagged: $0) })
    }
    switch (tag, value) {
    case ("$double", let number as NSNumber): return .value(.double(number.doubleValue))
    case ("$decimal", let text as String): return .value(.decimal(Decimal(string: text) ?? .nan))
    case ("$date", let seconds as NSNumber):
      return .value(.date(Date(timeIntervalSince1970: seconds.doubleValue)))
    case ("$data", let text as String): return .value(.data(Data(base64Encoded: text) ?? Data()))
    case ("$uuid", let text as String): return UUID(uuidString: text).map { .value(.uuid($0)) } ?? .null
    case ("$ref", let text as String):
      return .object(ObjectReference(entity: String(text.prefix { $0 != "/" }), uri: text))
    case ("$set", let elements as [Any]): return .set(Set(elements.map { ExpressionConstant(tagged: $0) }))
    case ("$dict", let pairs as [String: Any]):
      return .dictionary(pairs.mapValues { ExpressionConstant(tagged: $0) })
    case ("$repeat", let pair as [Any]):
      return .value(.string(String(repeating: pair[0] as? String ?? "", count: pair[1] as? Int ?? 0)))
    default: return .dictionary(object.mapValues { ExpressionConstant(tagged: $0) })
    }
  }
}
