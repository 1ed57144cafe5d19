import CDRuntime
import Foundation

let container = try PersistentContainer(for: PlantsModel.self, at: URL(filePath: "Plants.sqlite"))
let context = container.viewContext
let arguments = Array(CommandLine.arguments.dropFirst())

switch arguments.first {
case "add" where arguments.count == 4:
  let plant = Plant(name: arguments[1], in: context)
  plant.room = try Room.object(name: arguments[2], in: context) ?? Room(name: arguments[2], in: context)
  plant.height = Double(arguments[3])
  try context.save()
case "list":
  for plant in try Plant.fetch(sortedBy: \.name, in: context) {
    let height = plant.height?.description ?? "unknown"
    print("\(plant.name) (\(plant.room?.name ?? "nowhere")), \(plant.light), height \(height)")
  }
case "water" where arguments.count == 3:
  guard let plant = try Plant.object(matching: \.name, arguments[1], in: context) else {
    print("There is no plant \(arguments[1]).")
    break
  }
  plant.waterEvery = Int32(arguments[2]) ?? 7
  do { try context.save() } catch { print(error) }
case "thirsty" where arguments.count == 2:
  for plant in try Plant.fetch(
    where: \.room.name == arguments[1] && \.waterEvery < 4, sortedBy: \.waterEvery, in: context)
  {
    print("\(plant.name), every \(plant.waterEvery) days")
  }
default:
  print("Plants add NAME ROOM HEIGHT, Plants list, Plants water NAME DAYS, or Plants thirsty ROOM")
}
