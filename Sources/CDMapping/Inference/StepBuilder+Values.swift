import CDModel
#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// What differs between a stored value and the one that it was.
extension StepBuilder {
  func compare(_ leaf: StoredLeaf, _ origin: StoredLeaf, of place: Int, hasRule: Bool) {
    let mapping = mappings[place].mapping
    func note(_ kind: ModelChange.Kind, _ verdict: ModelChange.Verdict, _ path: String? = nil) {
      let resolution = resolution(verdict, of: place, hasRule: hasRule, dropping: path)
      changes.add(kind, verdict, resolution, mapping)
    }
    compareNames(leaf, origin, of: place)
    compareTypes(leaf, origin, note)
    if origin.isDerived { note(.attributeBecamePlain(leaf.name), .automatic) }
    if !origin.isOptional, leaf.isOptional { note(.attributeBecameOptional(leaf.name), .automatic) }
    if origin.isOptional, !leaf.isOptional {
      note(
        .attributeBecameMandatory(leaf.name), leaf.defaultValue == nil ? .needsRule : .automatic)
    }
    if origin.defaultValue != leaf.defaultValue { note(.defaultChanged(leaf.name), .automatic) }
    if origin.storesExternally != leaf.storesExternally { note(.storageChanged(leaf.name), .automatic) }
    if origin.hashModifier != leaf.hashModifier {
      note(.modifierChanged(element(of: leaf)), .automatic)
    }
    if Self.isTighter(leaf.field ?? leaf.attribute, origin.field ?? origin.attribute) {
      note(.rulesTightened(element(of: leaf)), .automatic)
    }
  }

  private func element(of leaf: StoredLeaf) -> VersionElement {
    if let field = leaf.field, case .composite(let name) = leaf.attribute.type {
      return .field(composite: name, name: field.name)
    }
    return .attribute(entity: leaf.owner, name: leaf.attribute.name)
  }

  /// - Parameter place: A mapping. One from another entity than the attribute's own takes what is called the
  ///   same, and nothing was renamed or moved for that.
  func compareNames(_ leaf: StoredLeaf, _ origin: StoredLeaf, of place: Int) {
    guard isInferred(place) else { return }
    if leaf.attribute.name != origin.attribute.name {
      changes.add(
        .attributeRenamed(
          from: PropertyName(origin.owner, origin.attribute.name),
          to: PropertyName(leaf.owner, leaf.attribute.name)))
    } else if match.entities[leaf.owner] != origin.owner {
      changes.add(
        .attributeMoved(
          from: PropertyName(origin.owner, origin.attribute.name),
          to: PropertyName(leaf.owner, leaf.attribute.name)))
    }
    if leaf.field?.name != origin.field?.name {
      changes.add(.attributeRenamed(from: origin.name, to: leaf.name))
    }
  }

  /// Whether a mapping's source is what its destination was.
  func isInferred(_ place: Int) -> Bool {
    match.entities[mappings[place].destinationName] == mappings[place].sourceName
  }

  // MARK: Types

  /// A type as a change names it: of two enumerations it is the raw types that differ.
  private func described(
    _ type: AttributeType, beside other: AttributeType, in graph: EntityGraph
  ) -> AttributeType {
    if case .enumeration = type, case .enumeration = other { return TypeRules.rawType(type, in: graph) }
    return type
  }

  private func compareTypes(
    _ leaf: StoredLeaf, _ origin: StoredLeaf,
    _ note: (ModelChange.Kind, ModelChange.Verdict, String?) -> Void
  ) {
    if case .codable = leaf.type, case .codable = origin.type {
      if leaf.type != origin.type {
        note(.codableChanged(leaf.name, from: origin.type, to: leaf.type), .needsRule, nil)
      }
      return
    }
    let conversion = TypeConversion(from: origin.type, in: source, to: leaf.type, in: destination)
    let changed = ModelChange.Kind.attributeTypeChanged(
      leaf.name, from: described(origin.type, beside: leaf.type, in: source),
      to: described(leaf.type, beside: origin.type, in: destination), conversion: conversion)
    switch conversion {
    case .identical: break
    case .lossless: note(changed, .automatic, nil)
    case .inexact: note(changed, .losesData, origin.path)
    case .partial, .impossible: return note(changed, .needsRule, nil)
    }
    compareCases(leaf, origin, note)
  }

  private func compareCases(
    _ leaf: StoredLeaf, _ origin: StoredLeaf,
    _ note: (ModelChange.Kind, ModelChange.Verdict, String?) -> Void
  ) {
    guard case .enumeration(let name) = leaf.type, let new = destination.enumeration(name) else { return }
    guard case .enumeration(let oldName) = origin.type, let old = source.enumeration(oldName) else {
      return note(.becameEnumeration(leaf.name, enumeration: name), .needsRule, nil)
    }
    let difference = CaseDifference(from: old, to: new)
    if !difference.added.isEmpty { changes.add(.casesAdded(enumeration: name, difference.added)) }
    if !difference.renamed.isEmpty {
      changes.add(
        .casesRenamed(
          enumeration: name, from: difference.renamed.map(\.old), to: difference.renamed.map(\.new)))
    }
    if !difference.removed.isEmpty {
      note(.casesRemoved(leaf.name, enumeration: name, difference.removed), .needsRule, nil)
    }
    if !difference.revalued.isEmpty {
      note(.caseValuesChanged(leaf.name, enumeration: name, difference.revalued), .needsRule, nil)
    }
  }

  // MARK: Validation

  /// Whether values may be refused now that were allowed.
  private static func isTighter(_ new: AttributeDescription, _ old: AttributeDescription) -> Bool {
    func isHigher(_ new: Double?, _ old: Double?) -> Bool { new.map { $0 > old ?? -.infinity } ?? false }
    let isBounded =
      isHigher(number(new.minimum), number(old.minimum))
      || isHigher(number(new.maximum).map { -$0 }, number(old.maximum).map { -$0 })
    let isShorter =
      isHigher(new.minimumLength.map(Double.init), old.minimumLength.map(Double.init))
      || isHigher(new.maximumLength.map { -Double($0) }, old.maximumLength.map { -Double($0) })
    return isBounded || isShorter || new.pattern != nil && new.pattern != old.pattern
  }

  /// A bound as a number, to compare bounds of different types with each other.
  private static func number(_ value: AttributeValue?) -> Double? {
    switch value {
    case .int(let value)?: Double(value)
    case .double(let value)?: value
    case .decimal(let value)?: Double(value.canonicalText)
    case .date(let value)?: value.timeIntervalSinceReferenceDate
    default: nil
    }
  }
}

/// How the cases of an enumeration differ from those of before.
struct CaseDifference {
  var added: [String] = []
  var removed: [String] = []
  /// Raw values that have kept their place under another name.
  var renamed: [(old: String, new: String)] = []
  /// Names that stand for another raw value.
  var revalued: [String] = []

  init(from old: EnumDescription, to new: EnumDescription) {
    let oldByName = Dictionary(
      old.cases.map { ($0.name, $0.rawValue) }, uniquingKeysWith: { first, _ in first })
    let oldByValue = Dictionary(
      old.cases.map { ($0.rawValue, $0.name) }, uniquingKeysWith: { first, _ in first })
    let newByName = Dictionary(
      new.cases.map { ($0.name, $0.rawValue) }, uniquingKeysWith: { first, _ in first })
    let newByValue = Dictionary(
      new.cases.map { ($0.rawValue, $0.name) }, uniquingKeysWith: { first, _ in first })
    for each in old.cases {
      if let value = newByName[each.name] {
        if value != each.rawValue { revalued.append(each.name) }
      } else if let name = newByValue[each.rawValue] {
        // A name that had another value before has taken this one over.
        if oldByName[name] == nil { renamed.append((each.name, name)) } else { removed.append(each.name) }
      } else {
        removed.append(each.name)
      }
    }
    for each in new.cases where oldByName[each.name] == nil && oldByValue[each.rawValue] == nil {
      added.append(each.name)
    }
  }
}
