import CDModel

extension ModelChange: CustomStringConvertible {
  /// The change in words, with its consequence if that is not obvious:
  /// `attribute 'note' of 'Contact' is gone from version 4: its values are lost`. Remedies are not included.
  public var description: String {
    summary + (consequence.map { ": " + $0 } ?? "")
  }

  /// The difference in words.
  package var summary: String {
    entitySummary ?? attributeSummary ?? relationshipSummary ?? typeSummary ?? ""
  }

  private var entitySummary: String? {
    switch kind {
    case .entityAdded(let name): "entity '\(name)' is new"
    case .entityRemoved(let name): "entity '\(name)' is gone from version \(destination)"
    case .entityRenamed(let from, let to): "entity '\(from)' is now '\(to)'"
    case .parentChanged(let name, let from, let to):
      "the parent of entity '\(name)' was \(Self.name(from)) and is \(Self.name(to))"
    case .entityBecameAbstract(let name): "entity '\(name)' has become abstract"
    case .entityBecameConcrete(let name): "entity '\(name)' is no longer abstract"
    case .entityUnmapped(let name): "no mapping migrates the objects of entity '\(name)' of version \(source)"
    case .objectsFiltered(let name):
      "the 'where' of a mapping may exclude objects of entity '\(name)' of version \(source)"
    case .ownedObjectsLeft(let name, let owners):
      "objects of entity '\(name)' of version \(source) are dropped with their owners, by "
        + owners.map(\.description).joined(separator: ", ")
        + ", where the 'where' of a mapping excludes the owners"
    case .undecided(.entity(let name), let note):
      "it is undecided which objects become objects of entity '\(name)' (\(note))"
    case .undecided(let element, let note): "the value of \(element) is undecided (\(note))"
    case .modifierChanged(let element): "\(element) has another 'hashModifier'"
    case .entityLeftConfiguration(let name, let configuration):
      "entity '\(name)' is gone from configuration '\(configuration)'"
    default: nil
    }
  }

  private var attributeSummary: String? {
    switch kind {
    case .attributeAdded(let name): "attribute \(name) is new"
    case .attributeRemoved(let name): "attribute \(name) is gone from version \(destination)"
    case .attributeRenamed(let from, let to): "attribute \(from) is now \(to)"
    case .renameUnresolved(let element, let old): "\(element) is renamed from '\(old)'"
    case .attributeMoved(let from, let to): "attribute \(from) is declared by '\(to.entity)' now"
    case .attributeTypeChanged(let name, let from, let to, _):
      "attribute \(name) was \(from.schemaName) and is \(to.schemaName)"
    case .codableChanged(let name, let from, let to):
      "attribute \(name) was \(Self.codable(from)) and is \(Self.codable(to))"
    case .attributeBecameOptional(let name): "attribute \(name) has become optional"
    case .attributeBecameMandatory(let name): "attribute \(name) has become mandatory"
    case .attributeBecameTransient(let name): "attribute \(name) is no longer stored"
    case .attributeBecameStored(let name): "attribute \(name) is stored now"
    case .attributeBecameDerived(let name): "attribute \(name) is derived now"
    case .attributeBecamePlain(let name): "attribute \(name) is no longer derived"
    case .derivationChanged(let name): "attribute \(name) is derived in another way"
    case .defaultChanged(let name): "attribute \(name) has another default"
    case .storageChanged(let name): "attribute \(name) is stored in another place"
    case .rulesTightened(let element): "\(element) has rules that older objects may break"
    default: nil
    }
  }

  private var relationshipSummary: String? {
    switch kind {
    case .relationshipAdded(let name): "relationship \(name) is new"
    case .relationshipRemoved(let name, losesOnlyOrder: _, isDeclared: true):
      "relationship \(name) gets its objects from its inverse"
    case .relationshipRemoved(let name, _, _): "relationship \(name) is gone from version \(destination)"
    case .relationshipRenamed(let from, let to): "relationship \(from) is now \(to)"
    case .relationshipMoved(let from, let to): "relationship \(from) is declared by '\(to.entity)' now"
    case .relationshipDestinationChanged(let name, let from, let to, _) where from == to:
      "some objects of relationship \(name) are not migrated"
    case .relationshipDestinationChanged(let name, let from, let to, _):
      "relationship \(name) led to '\(from)' and leads to '\(to)'"
    case .relationshipBecameToMany(let name): "relationship \(name) has become to-many"
    case .relationshipBecameToOne(let name, nil): "relationship \(name) has become to-one"
    case .relationshipBecameToOne(let name, let inverse?):
      "relationship \(name), the inverse of \(inverse), is to-one now"
    case .relationshipBecameOrdered(let name): "relationship \(name) has become ordered"
    case .relationshipBecameUnordered(let name): "relationship \(name) is no longer ordered"
    case .relationshipBecameOptional(let name): "relationship \(name) has become optional"
    case .relationshipBecameMandatory(let name, nil): "relationship \(name) has become mandatory"
    case .relationshipBecameMandatory(let name, _?):
      "relationship \(name) must lead to an existing object now"
    case .inverseChanged(let name, let from, let to, _):
      "the inverse of relationship \(name) was \(Self.name(from)) and is \(Self.name(to))"
    case .deleteRuleChanged(let name): "relationship \(name) has another delete rule"
    default: nil
    }
  }

  private var typeSummary: String? {
    switch kind {
    case .casesAdded(let name, let cases): "enum '\(name)' has \(Self.cases(cases)) more"
    case .casesRenamed(let name, let from, let to):
      "of enum '\(name)' \(Self.cases(from)) is now \(to.map { "'\($0)'" }.joined(separator: ", "))"
    case .casesRemoved(let name, let enumeration, let cases):
      "enum '\(enumeration)', the type of \(name), no longer has \(Self.cases(cases))"
    case .caseValuesChanged(let name, let enumeration, let cases):
      "of enum '\(enumeration)', the type of \(name), \(Self.cases(cases)) \(cases.count == 1 ? "has another raw value" : "have other raw values")"
    case .becameEnumeration(let name, let enumeration): "attribute \(name) is of enum '\(enumeration)' now"
    case .uniqueConstraintAdded(let name, let properties):
      "\(properties.joined(separator: ", ")) of '\(name)' must be unique now"
    case .uniqueConstraintRemoved(let name, let properties):
      "\(properties.joined(separator: ", ")) of '\(name)' need no longer be unique"
    case .indexesChanged(let name): "entity '\(name)' has other indexes"
    default: nil
    }
  }

  private static func name(_ name: String?) -> String { name.map { "'\($0)'" } ?? "none" }

  private static func codable(_ type: AttributeType) -> String {
    if case .codable(let name, let codec) = type { return "\(name) with codec \(codec)" }
    return type.schemaName
  }

  private static func cases(_ names: [String]) -> String {
    (names.count == 1 ? "case " : "cases ") + names.map { "'\($0)'" }.joined(separator: ", ")
  }
}

extension ModelChange {
  /// The consequence for objects of the source version, in words; nil if there is none.
  package var consequence: String? {
    switch verdict {
    case .automatic: warning
    case .losesData: loss
    case .needsRule: need
    }
  }

  private var warning: String? {
    switch kind {
    case .rulesTightened: "such objects are migrated, but cannot be saved until they meet the rules"
    default: nil
    }
  }

  private var loss: String {
    switch kind {
    case .entityRemoved, .entityBecameAbstract, .entityUnmapped: "its objects are lost"
    case .objectsFiltered: "these objects are lost"
    case .ownedObjectsLeft: "they are lost too"
    case .entityLeftConfiguration: "its objects in stores of that configuration are lost"
    case .attributeTypeChanged: "values lose digits"
    case .relationshipRemoved(_, losesOnlyOrder: true, isDeclared: _): "the order of its objects is lost"
    case .relationshipRemoved: "the relations between objects are lost"
    case .relationshipBecameUnordered: "the order is lost"
    case .relationshipDestinationChanged(_, _, let to, let lost):
      "objects of \(lost.map { "'\($0)'" }.joined(separator: ", ")), which do not become '\(to)', are lost to it"
    case .attributeBecameDerived: "the values that objects have are replaced"
    default: "its values are lost"
    }
  }

  private var need: String {
    let objects = "objects of version \(source)"
    switch kind {
    case .undecided: return "the inferred rule may be wrong"
    case .attributeAdded: return "it is mandatory and has no default, so \(objects) have no value for it"
    case .attributeBecameStored:
      return "it is mandatory and has no default, so \(objects) have no value for it"
    case .renameUnresolved(_, let old):
      return "none of its objects was a '\(old.prefix { $0 != "." })' in version \(source)"
    case .attributeBecameMandatory: return "it has no default, and \(objects) may be without a value"
    case .attributeTypeChanged(_, _, _, .partial): return "not every value can be converted"
    case .attributeTypeChanged: return "there is no conversion"
    case .codableChanged: return "only the app knows whether the JSON of \(objects) still fits"
    case .casesRemoved: return "\(objects) may have it"
    case .caseValuesChanged: return "\(objects) have the old value"
    case .becameEnumeration: return "\(objects) may have values that belong to no case"
    case .relationshipAdded: return "it is mandatory, so \(objects) need one"
    case .relationshipBecameToOne(_, nil): return "\(objects) may have several, of which one can stay"
    case .relationshipBecameToOne:
      return "several \(objects) may refer to the same object, which can keep one of them"
    case .relationshipBecameMandatory(_, let inverse?):
      return "\(inverse) had the delete rule 'noAction', so \(objects) may refer to deleted objects"
    case .relationshipBecameMandatory: return "\(objects) may have none"
    case .relationshipDestinationChanged(_, _, let to, let lost):
      return "it is mandatory, and not all objects of \(lost.map { "'\($0)'" }.joined(separator: ", ")) "
        + "become '\(to)'"
    case .inverseChanged: return "both had objects of their own in version \(source)"
    case .uniqueConstraintAdded: return "\(objects) may have equal values"
    default: return "\(objects) need a rule"
    }
  }
}
