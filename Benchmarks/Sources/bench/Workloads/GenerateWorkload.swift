import CDGenerator

/// The time to generate a model's Swift.
struct GenerateWorkload: Workload {
  let name = "generate"
  let summary = "Makes the Swift of models of 100, 300 and 1,000 entities."

  func run(_ settings: Settings) throws -> [Figure] {
    let sizes = settings.isSmoke ? [2, 4, 8] : [100, 300, 1000]
    let contenders = sizes.map { size in
      let model = SampleModel.make(entities: size)
      return Contender(name: "\(size)") {
        try CPUTime.measure {
          let files = try Generator(options: .init(access: .public)).generate(model)
          guard files.first?.contents.isEmpty == false else { throw BenchError("nothing was generated") }
        }
      }
    }
    let rounds = try Rounds(contenders, count: settings.rounds ?? 11)
    var figures = sizes.map { size in
      Figure(
        name, "\(size) entities", milliseconds: rounds.median("\(size)") * 1000, rounds: rounds.count,
        goal: size == 1000 ? 300 : nil)
    }
    // The time must grow linearly with the number of entities, with a tolerance of a quarter.
    for (smaller, larger) in zip(sizes, sizes.dropFirst()) {
      let growth = rounds.ratio("\(larger)", to: "\(smaller)")
      figures.append(
        Figure(
          name, "\(larger) entities to \(smaller)", ratio: growth, rounds: rounds.count,
          goal: settings.isSmoke ? nil : Double(larger) / Double(smaller) * 1.25))
    }
    return figures
  }
}
