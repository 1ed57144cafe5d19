// Who refers to an object without being told of its end.
extension ManagedObjectContext {
  /// The objects whose references lead to one by a relationship with a rule that leaves them as they are.
  func untoldReferrers(of object: ManagedObject) -> [UndoReferrer] {
    var result: [UndoReferrer] = []
    for case let relationship? in object.scope.plan.relationships {
      guard let inverse = inverse(of: relationship), !inverse.isToMany else { continue }
      switch relationship.description.deleteRule {
      case .nullify, .cascade: continue
      case .deny, .noAction: break
      }
      let others: [ManagedObject]
      switch relationship.storage {
      case .reference where relationship.isSymmetric:
        // Its partner refers to it in a row of its own.
        let partner = object.relatedObject(relationship)
        partner?._willRead()
        others =
          partner.map { $0.referenceKey(inverse.slot) == object.key && $0 !== object ? [$0] : [] } ?? []
      case .reference: continue
      case .referencesOfOthers, .join: others = objects(of: object, relationship)
      case .inverseReference: others = partner(of: object, relationship).map { [$0] } ?? []
      }
      result += others.map { UndoReferrer($0, inverse) }
    }
    return result
  }

  /// The objects, in memory or not, that refer to an object by a relationship without an inverse.
  func oneSidedReferrers(of object: ManagedObject) -> [UndoReferrer] {
    var result: [UndoReferrer] = []
    let known = parent.flatMap { parent in
      original(of: object).map { parent.oneSidedReferrers(of: $0) }
    }
    let lineage = object.scope.plan.lineage
    for plan in model.entities where stores.store(of: plan) != nil {
      for case let relationship? in plan.relationships
      where relationship.inverse == nil && relationship.owner == plan.name
        && lineage.contains(relationship.destination)
      {
        var seen: Set<ObjectKey> = []
        func add(_ holder: ManagedObject) {
          guard holder.exists, seen.insert(holder.key).inserted else { return }
          holder._willRead()
          let refers =
            relationship.isToMany
            ? visibleKeys(of: holder, relationship.slot).contains(object.key)
            : holder.referenceKey(relationship.slot) == object.key
          if refers { result.append(UndoReferrer(holder, relationship)) }
        }
        for holder in pending where holder.isPending && holder.scope.plan.isKind(of: plan) { add(holder) }
        guard !object.flags.contains(.inserted) else { continue }
        if parent != nil {
          let others = known?.filter { $0.relationship === relationship }.map(\.object) ?? []
          for holder in copies(of: others) { add(holder) }
          continue
        }
        for key in keysOfReferrers(to: object, relationship, plan) {
          if let holder = registered(key, root: plan.root) ?? (try? fetchObject(key, plan)) { add(holder) }
        }
      }
    }
    return result
  }

  private func keysOfReferrers(
    to object: ManagedObject, _ relationship: RelationshipPlan, _ plan: EntityPlan
  ) -> [ObjectKey] {
    do {
      return try reader().referrers(by: relationship, of: plan, to: object.key)
    } catch {
      object.report(.readFailed("\(error)"))
      return []
    }
  }
}
