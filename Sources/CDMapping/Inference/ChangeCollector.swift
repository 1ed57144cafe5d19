import CDModel

/// Collects changes. A change that affects several entities is recorded once.
struct ChangeCollector {
  private struct Entry {
    var verdict: ModelChange.Verdict
    var resolution: ModelChange.Resolution
    /// The mappings that have the recorded resolution.
    var mappings: [String]
    var destinations: [String]
    var candidates: [String]
  }

  private var order: [ModelChange.Kind] = []
  private var entries: [ModelChange.Kind: Entry] = [:]

  /// Records a change. If it affects several entities, the least resolved one decides.
  mutating func add(
    _ kind: ModelChange.Kind, _ verdict: ModelChange.Verdict = .automatic,
    _ resolution: ModelChange.Resolution = .automatic, _ mapping: EntityMapping? = nil,
    candidates: [String] = []
  ) {
    let mappings = [mapping?.name].compactMap { $0 }
    let destinations = [mapping?.destination].compactMap { $0 }
    guard var entry = entries[kind] else {
      order.append(kind)
      entries[kind] = Entry(
        verdict: verdict, resolution: resolution, mappings: mappings, destinations: destinations,
        candidates: candidates)
      return
    }
    if resolution > entry.resolution {
      (entry.resolution, entry.verdict) = (resolution, verdict)
      (entry.mappings, entry.destinations) = (mappings, destinations)
      entry.candidates = candidates
    } else if resolution == entry.resolution {
      if verdict == .needsRule { entry.verdict = verdict }
      for each in mappings where !entry.mappings.contains(each) { entry.mappings.append(each) }
      for each in destinations where !entry.destinations.contains(each) { entry.destinations.append(each) }
      for each in candidates where !entry.candidates.contains(each) { entry.candidates.append(each) }
    }
    entries[kind] = entry
  }

  /// The candidate with a similar name, if there is one. Otherwise the first three.
  private static func likeliest(_ candidates: [String], for kind: ModelChange.Kind) -> [String] {
    let name: String? =
      switch kind {
      case .entityRemoved(let name): name
      case .attributeRemoved(let name), .relationshipRemoved(let name, _, _): name.name
      default: nil
      }
    if let close = name.flatMap({ closestName(to: $0, in: candidates) }) { return [close] }
    return Array(candidates.prefix(3))
  }

  mutating func remove(_ kind: ModelChange.Kind) {
    order.removeAll { $0 == kind }
    entries[kind] = nil
  }

  func finished(_ builder: StepBuilder) -> [ModelChange] {
    order.compactMap { kind in
      guard let entry = entries[kind] else { return nil }
      let candidates = Self.likeliest(entry.candidates, for: kind)
      return ModelChange(
        kind: kind, verdict: entry.verdict, resolution: entry.resolution,
        source: builder.source.version.number, destination: builder.destination.version.number,
        mappings: entry.mappings, candidates: candidates,
        remedies: entry.resolution == .open
          ? builder.remedies(for: kind, entry.destinations, candidates) : [])
    }
  }
}
