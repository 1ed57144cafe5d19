import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension PredicateExpressions.KeyPath: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    let base = try translator.value(root)
    switch kind {
    case .collectionCount?:
      if isText(Root.Output.self) {
        throw PredicateTranslationError.unsupported(
          construct: "the count of a string's characters",
          remedy: "a format string's length() counts UTF-16 units; isEmpty is translated")
      }
      return .value(count(base))
    case .collectionIsEmpty?:
      if isText(Root.Output.self) {
        return .condition(FetchPredicate(base, .equalTo, .constant(.string(""))))
      }
      return .condition(isEmpty(base))
    case .collectionFirst?: return .value(.path(base, [.first]))
    case .bidirectionalCollectionLast?: return .value(.path(base, [.last]))
    case nil: break
    @unknown default: throw PredicateTranslator.unsupported(Self.self)
    }
    if let type = Root.Output.self as? any EnumAttribute.Type, isRawValue(keyPath, of: type) {
      return .value(base)
    }
    let table = try table()
    if keyPath == table.objectID { return .value(base) }
    if let name = table.name(of: keyPath) { return .value(.path(base, [.key(name)])) }
    if table.isEmpty { throw PredicateTranslationError.noKeyPaths(type: "\(Root.Output.self)") }
    throw PredicateTranslationError.unknownKeyPath(type: "\(Root.Output.self)", keyPath: "\(keyPath)")
  }

  private func table() throws -> KeyPathTable {
    if let type = Root.Output.self as? ManagedObject.Type { return type._keyPaths }
    if let type = Root.Output.self as? any CompositeAttribute.Type { return type._keyPaths }
    throw PredicateTranslationError.unsupported(construct: "\(keyPath)", remedy: nil)
  }
}

/// Returns whether a key path of an enumeration leads to the raw value. It does if it gives the raw value of each case.
private func isRawValue<Value: EnumAttribute>(_ path: AnyKeyPath, of type: Value.Type) -> Bool {
  guard let path = path as? KeyPath<Value, Value.RawValue> else { return false }
  return Value.allCases.allSatisfy { $0[keyPath: path].attributeValue == $0.rawValue.attributeValue }
}
